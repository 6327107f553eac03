import type { Holdfast } from '@holdfast/runtime'
import { createToken, listTokens, revokeToken } from '../../auth/tokens.js'
import type { Role } from '../../roles.js'
import { currentActor } from '../backends/actor.js'
import { openRuntime } from '../backends/local.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, createUsageError, EXIT_CODES } from '../context/exit.js'
import { printJson, printList } from '../output/print.js'
import { formatRelativeTime } from '../output/text.js'

/** Runs `work` with a runtime on the store: a user who can write to the store can create tokens. */
async function withStore<T>(
  context: CommandContext,
  canWrite: boolean,
  work: (hf: Holdfast) => Promise<T>,
): Promise<T> {
  if (context.globalOptions.url !== undefined)
    throw createUsageError(
      'token: expected no --url',
      'tokens are created in the store: run the command on its machine, with --config FILE',
    )
  const hf = await openRuntime(context, { canWrite })
  try {
    return await work(hf)
  } finally {
    await hf.close()
  }
}

/** `token create NAME --role ROLE`: creates a token. It is printed once and stored as a hash. */
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
  io.err(
    `The token is not shown again. ${name} has the role ${role}. From now on every request requires a token.\n`,
  )
}

/** `token list`: lists all tokens. */
export async function listTokensCommand(context: CommandContext): Promise<void> {
  const tokens = await withStore(context, false, (hf) => listTokens(hf))
  printList(context, {
    items: tokens.map(({ name, role, createdAt }) => ({ name, role, created_at: createdAt.toISOString() })),
    head: ['name', 'role', 'created'],
    row: (token) => [token.name, token.role, formatRelativeTime(token.created_at, context.io.clock.wall())],
    emptyMessage: 'no tokens found: the server accepts requests from this machine only',
  })
}

/** `token revoke NAME`: revokes a token. */
export async function revokeTokenCommand(
  context: CommandContext,
  name: string,
  { reason }: { reason?: string },
): Promise<void> {
  const isRevoked = await withStore(context, true, (hf) =>
    revokeToken(hf, name, { by: currentActor(), reason }),
  )
  if (!isRevoked)
    throw new CommandFailure(EXIT_CODES.failure, `token ${name} not found`, {
      code: 'NOT_FOUND',
      hint: 'holdfast token list shows all tokens',
    })
  if (context.globalOptions.json) printJson(context, { name, revoked: true })
  else context.io.out(`token ${name} revoked\n`)
}
