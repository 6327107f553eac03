import { AUDIT_ACTIONS, auditCodec } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { respondWithPage } from '../http/json-list.js'
import type { Routes } from './routes.js'
import {
  optionalWord,
  orderParam,
  pageSchema,
  pagingParams,
  recordSchemas,
  timeRangeParams,
} from './schemas.js'

/** The routes of the audit trail. */
export function addAuditRoutes({ hf, addRoute }: Routes): void {
  addRoute(
    {
      method: 'get',
      path: '/audit',
      id: 'listAudit',
      tag: 'audit',
      role: 'viewer',
      summary: 'Audit records of changes and reads, newest first',
      query: z.strictObject({
        ...pagingParams,
        ...timeRangeParams,
        order: orderParam,
        actor: optionalWord('Only records of this actor.'),
        action: z.enum(AUDIT_ACTIONS).optional().describe('Only records of this action.'),
        target: optionalWord('Only records about this target.'),
      }),
      responses: { 200: { description: 'A page of audit records', schema: pageSchema(recordSchemas.audit) } },
    },
    async ({ query, honoContext }) =>
      respondWithPage(honoContext, 'items', await hf.audit.list(query), auditCodec.encode),
  )
}
