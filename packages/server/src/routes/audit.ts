import { AUDIT_ACTIONS, auditCodec } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import type { Routes } from './routes.js'
import { order, pageSchema, paging, range, shapes, word } from './shapes.js'

/** Who did what. */
export function audit({ hf, operation }: Routes): void {
  operation(
    {
      method: 'get',
      path: '/audit',
      id: 'listAudit',
      tag: 'audit',
      role: 'viewer',
      summary: 'Who changed or read what, newest first',
      query: z.strictObject({
        ...paging,
        ...range,
        order,
        actor: word,
        action: z.enum(AUDIT_ACTIONS).optional(),
        target: word,
      }),
      answers: { 200: { description: 'A page of audit records', schema: pageSchema(shapes.audit) } },
    },
    async ({ query }) => {
      const { items, ...rest } = await hf.audit.list(query)
      return { body: { items: items.map(auditCodec.encode), ...rest } }
    },
  )
}
