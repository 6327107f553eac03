import { z } from '@hono/zod-openapi'
import { ROLES } from '../roles.js'
import type { Routes } from './routes.js'

const accessSchema = z
  .object({
    name: z.string().describe('The name of the token; `local` if no token is required.'),
    role: z.enum(ROLES).describe('The role of the caller.'),
    token: z.boolean().describe('Whether the caller was authenticated by a token.'),
  })
  .meta({ id: 'Access' })

/** The caller, as on the wire. */
export type WireAccess = z.input<typeof accessSchema>

/** The route of the caller and its role, by which the dashboard decides what to show. */
export function addAccessRoutes({ operation }: Routes): void {
  operation(
    {
      method: 'get',
      path: '/access',
      id: 'getAccess',
      tag: 'access',
      role: 'viewer',
      summary: 'The caller and its role',
      answers: { 200: { description: 'The name and the role of the caller', schema: accessSchema } },
    },
    ({ caller }) => ({ body: { ...caller } }),
  )
}
