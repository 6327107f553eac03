import type { Holdfast } from '@holdfast/runtime'
import { createToken, listTokens, revokeToken } from '../../auth/tokens.js'
import type { Role } from '../../roles.js'
import { currentActor } from '../backends/actor.js'
import { openRuntime } from '../backends/local.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, createUsageError, EXIT_CODES } from '../context/exit.js'
import { printJson, printList } from '../output/print.js'
import { formatRelativeTime } from '../output/text.js'

/** Tokens are made where the store is: whoever can write to it may let others in. */
async function withStore<T>(
  context: CommandContext,
  canWrite: boolean,
  work: (hf: Holdfast) => Promise<T>,
): Promise<T> {
  if (context.globalOptions.url !== undefined)
    throw createUsageError(
      'token: takes no --url',
      'tokens are made beside the store: run it there, with --config FILE',
    )
  const hf = await openRuntime(context, { canWrite })
  try {
    return await work(hf)
  } finally {
    await hf.close()
  }
}

/** `token create NAME --role ROLE`. The token is shown once, and kept as a hash. */
export async function createTokenCommand(
  context: CommandContext,
  name: string,
  { role, reason }: { role: Role; reason?: string },
): Promise<void> {
  const { io, globalOptions } = context
  const created = await withStore(context, true, (hf) =>
    createToken(hf, { name, role, by: currentActor(), reason }),
  )
  if (globalOptions.json)
    return printJson(context, {
      token: created.token,
      name,
      role,
      created_at: created.createdAt.toISOString(),
    })
  io.out(`${created.token}\n`)
  io.err(`This is the only time it is shown. ${name} is ${role}; from now on every request needs a token.\n`)
}

/** `token list`. */
export async function listTokensCommand(context: CommandContext): Promise<void> {
  const tokens = await withStore(context, false, (hf) => listTokens(hf))
  printList(context, {
    items: tokens.map(({ name, role, createdAt }) => ({ name, role, created_at: createdAt.toISOString() })),
    head: ['name', 'role', 'made'],
    row: (token) => [token.name, token.role, formatRelativeTime(token.created_at, context.io.clock.wall())],
    emptyMessage: 'there are no tokens: the server is open to this machine and to no other',
  })
}

/** `token revoke NAME`. */
export async function revokeTokenCommand(
  context: CommandContext,
  name: string,
  { reason }: { reason?: string },
): Promise<void> {
  const gone = await withStore(context, true, (hf) => revokeToken(hf, name, { by: currentActor(), reason }))
  if (!gone)
    throw new CommandFailure(EXIT_CODES.failure, `there is no token ${name}`, {
      code: 'NOT_FOUND',
      hint: 'holdfast token list shows them',
    })
  if (context.globalOptions.json) printJson(context, { name, revoked: true })
  else context.io.out(`${name} is revoked\n`)
}
