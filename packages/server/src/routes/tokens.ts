import { z } from '@hono/zod-openapi'
import { createOptionsError, optionProblem } from 'holdfast/internal'
import {
  createToken,
  defaultRoleOf,
  isLastAdmin,
  lastAdminWarning,
  listTokens,
  revokeToken,
  type TokenInfo,
} from '../auth/tokens.js'
import { ApiError } from '../http/api-error.js'
import { ROLES } from '../roles.js'
import type { RequestActor } from './add-route.js'
import type { Routes } from './routes.js'
import { idParam, reasonField } from './schemas.js'

const tokenFields = {
  name: z.string().describe('The name of the token in the audit trail.'),
  role: z.enum(ROLES).describe('The role of callers with the token.'),
  created_at: z.iso.datetime().describe('When the token was created.'),
}

const tokenSchema = z.object(tokenFields).meta({ id: 'Token' })

const createdSchema = z
  .object({ token: z.string().describe('The token. No other response contains it.'), ...tokenFields })
  .meta({ id: 'CreatedToken' })

/** A token, as on the wire. */
export type WireToken = z.input<typeof tokenSchema>

/** A new token with its secret, as on the wire. */
export type WireCreatedToken = z.input<typeof createdSchema>

const toWire = ({ name, role, createdAt }: TokenInfo): WireToken => ({
  name,
  role,
  created_at: createdAt.toISOString(),
})

/** The routes of tokens. `holdfast token` works on the same store. */
export function addTokenRoutes({ addRoute, hf, settings }: Routes): void {
  addRoute(
    {
      method: 'get',
      path: '/tokens',
      id: 'listTokens',
      tag: 'tokens',
      role: 'admin',
      summary: 'All tokens, without their secrets',
      responses: {
        200: {
          description: 'The tokens, sorted by name',
          schema: z
            .object({ items: z.array(tokenSchema).describe('The tokens, sorted by name.') })
            .meta({ id: 'TokenList' }),
        },
      },
    },
    async () => ({ body: { items: (await listTokens(hf)).map(toWire) } }),
  )

  addRoute(
    {
      method: 'post',
      path: '/tokens',
      id: 'createToken',
      tag: 'tokens',
      role: 'admin',
      summary: 'Create a token',
      description:
        'The response contains the token; only its hash is stored. After the first token every request requires one, also on ' +
        'loopback, so the first token must have the role admin. Requires the role admin.',
      body: z
        .strictObject({
          name: z.string().describe('1 to 64 letters, digits, `_`, `.`, `@` or `-`; no other token has it.'),
          role: z
            .enum(ROLES)
            .optional()
            .describe('The role of callers with the token. Default: `viewer`; `admin` for the first token.'),
          reason: reasonField,
        })
        .meta({ id: 'NewToken' }),
      responses: { 201: { description: 'The token with its secret', schema: createdSchema } },
    },
    async ({ body: { name, role }, actor }) => {
      const defaultRole = defaultRoleOf(await listTokens(hf))
      // Any other role would lock out the caller, who is admin only while there is no token.
      if (defaultRole === 'admin' && (role ?? 'admin') !== 'admin')
        throw createOptionsError('invalid token', [optionProblem('role', 'admin for the first token', role)])
      const now = new Date(settings.clock.wall())
      const created = await createToken(hf, { name, role: role ?? defaultRole, now, ...actor })
      return { status: 201, body: { token: created.token, ...toWire(created) } }
    },
  )

  const revoke = async (name: string, by: RequestActor) => {
    const known = await listTokens(hf)
    if (!(await revokeToken(hf, name, by))) throw new ApiError('NOT_FOUND', `token ${name} not found`)
    const headers = isLastAdmin(name, known) ? { 'x-warning': lastAdminWarning(name) } : {}
    return { status: 204 as const, headers }
  }

  addRoute(
    {
      method: 'delete',
      path: '/tokens/{name}',
      id: 'revokeToken',
      tag: 'tokens',
      role: 'admin',
      summary: 'Revoke a token at once',
      description:
        'Requests with the token are rejected from then on. The header `x-warning` reports that it was the last token with the role ' +
        'admin while others exist. Requires the role admin.',
      params: z.object({ name: idParam('The name of the token.') }),
      responses: { 204: { description: 'The token is revoked' } },
    },
    ({ params: { name }, actor }) => revoke(name, actor),
  )

  addRoute(
    {
      method: 'delete',
      path: '/tokens',
      id: 'revokeTokenByName',
      tag: 'tokens',
      role: 'admin',
      summary: 'Revoke a token at once, with its name in the query',
      description:
        'Requests with the token are rejected from then on. The header `x-warning` reports that it was the last token with the role ' +
        'admin while others exist. Requires the role admin.',
      query: z.strictObject({ name: idParam('The name of the token.') }),
      responses: { 204: { description: 'The token is revoked' } },
      errors: ['NOT_FOUND'],
    },
    ({ query: { name }, actor }) => revoke(name, actor),
  )
}
