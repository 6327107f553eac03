import { z } from '@hono/zod-openapi'
import { ROLES } from '../roles.js'
import type { Routes } from './routes.js'

const accessSchema = z
  .object({
    name: z.string().describe('The name of the token that was shown; `local` where none is needed.'),
    role: z.enum(ROLES),
    token: z.boolean().describe('Whether it is a token that lets the caller in.'),
  })
  .meta({ id: 'Access' })

/** Who asks: so that a page can show what its reader may do, and nothing else. */
export function addAccessRoutes({ operation }: Routes): void {
  operation(
    {
      method: 'get',
      path: '/access',
      id: 'getAccess',
      tag: 'access',
      role: 'viewer',
      summary: 'Who the caller is, and what they may do',
      answers: { 200: { description: 'The name and the role of the caller', schema: accessSchema } },
    },
    ({ caller }) => ({ body: { ...caller } }),
  )
}
