import type { WireAccess } from '@holdfast/server/internal'
import type { WireToken } from '../../api/types.js'

/** The effects of revoking a token, for a confirmation. */
export function revokeText(
  token: Pick<WireToken, 'name' | 'role'>,
  all: readonly Pick<WireToken, 'name' | 'role'>[],
  caller: Pick<WireAccess, 'name' | 'token'> | undefined,
): string {
  const others = all.filter(({ name }) => name !== token.name)
  const isOwn = caller?.token === true && caller.name === token.name
  const isLastAdmin = token.role === 'admin' && !others.some(({ role }) => role === 'admin')
  return [
    isOwn
      ? 'This is your own token: you will be signed out.'
      : 'Requests with the token are rejected at once.',
    ...(others.length === 0
      ? [
          'This is the last token: a server that listens only on its own machine then accepts every user of that machine as admin, and any other server rejects all requests.',
        ]
      : isLastAdmin
        ? [
            'This is the last token with the role admin: only holdfast token create on the machine of the server can then create another one.',
          ]
        : []),
    'This cannot be undone.',
  ].join(' ')
}
