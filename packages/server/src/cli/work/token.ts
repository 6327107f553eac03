import type { Holdfast } from '@holdfast/runtime'
import type { Role } from '../../access/roles.js'
import { createToken, listTokens, revokeToken } from '../../access/tokens.js'
import type { Context } from '../context.js'
import { CommandFailure, EXIT, misused } from '../exit.js'
import { printJson, printList } from '../output/print.js'
import { when } from '../output/text.js'
import { actor } from '../source/actor.js'
import { openStored } from '../source/local.js'

/** Tokens are made where the store is: whoever can write to it may let others in. */
async function withStore<T>(
  context: Context,
  writes: boolean,
  work: (hf: Holdfast) => Promise<T>,
): Promise<T> {
  if (context.shared.url !== undefined)
    throw misused(
      'token: takes no --url',
      'tokens are made beside the store: run it there, with --config FILE',
    )
  const hf = await openStored(context, { writes })
  try {
    return await work(hf)
  } finally {
    await hf.close()
  }
}

/** `token create NAME --role ROLE`. The token is shown once, and kept as a hash. */
export async function create(
  context: Context,
  name: string,
  { role, reason }: { role: Role; reason?: string },
): Promise<void> {
  const { io, shared } = context
  const made = await withStore(context, true, (hf) => createToken(hf, { name, role, by: actor(), reason }))
  if (shared.json)
    return printJson(context, { token: made.token, name, role, created_at: made.createdAt.toISOString() })
  io.out(`${made.token}\n`)
  io.err(`This is the only time it is shown. ${name} is ${role}; from now on every request needs a token.\n`)
}

/** `token list`. */
export async function list(context: Context): Promise<void> {
  const tokens = await withStore(context, false, (hf) => listTokens(hf))
  printList(context, {
    items: tokens.map(({ name, role, createdAt }) => ({ name, role, created_at: createdAt.toISOString() })),
    head: ['name', 'role', 'made'],
    row: (token) => [token.name, token.role, when(token.created_at, context.io.clock.wall())],
    none: 'there are no tokens: the server is open to this machine and to no other',
  })
}

/** `token revoke NAME`. */
export async function revoke(context: Context, name: string, { reason }: { reason?: string }): Promise<void> {
  const gone = await withStore(context, true, (hf) => revokeToken(hf, name, { by: actor(), reason }))
  if (!gone)
    throw new CommandFailure(EXIT.failure, `there is no token ${name}`, {
      code: 'NOT_FOUND',
      hint: 'holdfast token list shows them',
    })
  if (context.shared.json) printJson(context, { name, revoked: true })
  else context.io.out(`${name} is revoked\n`)
}
