import type { Holdfast } from '@holdfast/runtime'
import {
  createToken,
  defaultRoleOf,
  isLastAdmin,
  lastAdminWarning,
  listTokens,
  revokeToken,
} from '../../auth/tokens.js'
import type { Role } from '../../roles.js'
import type { WireCreatedToken, WireToken } from '../../routes/tokens.js'
import { currentActor } from '../backends/actor.js'
import { reasonHeader, requestJson, withApi } from '../backends/api.js'
import { openRuntime } from '../backends/local.js'
import { type CommandContext, serverUrl } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { printJson, printList } from '../output/print.js'
import { formatRelativeTime } from '../output/text.js'

/** Runs `work` with a runtime on the store: a user who can write to the store can create tokens. */
async function withStore<T>(
  context: CommandContext,
  canWrite: boolean,
  work: (hf: Holdfast) => Promise<T>,
): Promise<T> {
  const hf = await openRuntime(context, { canWrite })
  try {
    return await work(hf)
  } finally {
    await hf.close()
  }
}

/** Creates a token through the server at `--url`, or in the store. */
function create(
  context: CommandContext,
  options: { name: string; role: Role | undefined; reason: string | undefined },
): Promise<WireCreatedToken> {
  const { name, role, reason } = options
  if (serverUrl(context) !== undefined)
    return withApi(context, {}, (api) =>
      requestJson(api, 'POST', '/tokens', { body: { name, role }, ...reasonHeader(reason) }),
    )
  return withStore(context, true, async (hf) => {
    const newRole = role ?? defaultRoleOf(await listTokens(hf))
    const { token, createdAt } = await createToken(hf, { name, role: newRole, by: currentActor(), reason })
    return { token, name, role: newRole, created_at: createdAt.toISOString() }
  })
}

async function list(context: CommandContext): Promise<readonly WireToken[]> {
  if (serverUrl(context) !== undefined)
    return withApi(
      context,
      {},
      async (api) => (await requestJson<{ items: WireToken[] }>(api, 'GET', '/tokens')).items,
    )
  const tokens = await withStore(context, false, (hf) => listTokens(hf))
  return tokens.map(({ name, role, createdAt }) => ({ name, role, created_at: createdAt.toISOString() }))
}

/** Revokes a token. @throws CommandFailure NOT_FOUND */
async function revoke(context: CommandContext, name: string, reason: string | undefined): Promise<void> {
  if (serverUrl(context) !== undefined)
    return withApi(context, {}, (api) =>
      requestJson(api, 'DELETE', `/tokens/${encodeURIComponent(name)}`, reasonHeader(reason)),
    )
  const isRevoked = await withStore(context, true, (hf) =>
    revokeToken(hf, name, { by: currentActor(), reason }),
  )
  if (!isRevoked)
    throw new CommandFailure(EXIT_CODES.failure, `token ${name} not found`, {
      code: 'NOT_FOUND',
      hint: 'holdfast token list shows all tokens',
    })
}

/** `token create NAME --role ROLE`: creates a token. It is printed once and stored as a hash. */
export async function createTokenCommand(
  context: CommandContext,
  name: string,
  { role, reason }: { role?: Role; reason?: string },
): Promise<void> {
  const { io, globalOptions } = context
  const created = await create(context, { name, role, reason })
  if (globalOptions.json) return printJson(context, created)
  io.out(`${created.token}\n`)
  io.err(
    `The token is not shown again. ${name} has the role ${created.role}. From now on every request requires a token.\n`,
  )
}

/** `token list`: lists all tokens. */
export async function listTokensCommand(context: CommandContext): Promise<void> {
  printList(context, {
    items: await list(context),
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
  const known = await list(context)
  await revoke(context, name, reason)
  if (isLastAdmin(name, known)) context.io.err(`holdfast: ${lastAdminWarning(name)}\n`)
  if (context.globalOptions.json) printJson(context, { name, revoked: true })
  else context.io.out(`token ${name} revoked\n`)
}
