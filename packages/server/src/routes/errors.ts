import { errorRecordCodec, SEVERITIES } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import type { Routes } from './routes.js'
import {
  optionalWord,
  orderParam,
  pageSchema,
  pagingParams,
  recordSchemas,
  timeRangeParams,
} from './schemas.js'

/** A query parameter that accepts upper and lower case. */
const caseInsensitiveEnum = <const T extends readonly [string, ...string[]]>(words: T, description: string) =>
  z
    .string()
    .transform((text) => text.toUpperCase())
    .pipe(z.enum(words))
    .optional()
    .openapi({ type: 'string', enum: [...words], description })

/** The routes of error records. */
export function addErrorRoutes({ hf, operation }: Routes): void {
  operation(
    {
      method: 'get',
      path: '/errors',
      id: 'listErrors',
      tag: 'errors',
      role: 'viewer',
      summary: 'Records of failed attempts, newest first',
      query: z.strictObject({
        ...pagingParams,
        ...timeRangeParams,
        order: orderParam,
        severity: caseInsensitiveEnum(SEVERITIES, 'Only records of this severity.'),
        category: caseInsensitiveEnum(
          ['TRANSIENT', 'PERMANENT', 'CRITICAL'],
          'Only records of this category.',
        ),
        operation: optionalWord('Only records of this operation.'),
      }),
      answers: { 200: { description: 'A page of error records', schema: pageSchema(recordSchemas.error) } },
    },
    async ({ query }) => {
      const { items, ...rest } = await hf.errors.list(query)
      return { body: { items: items.map(errorRecordCodec.encode), ...rest } }
    },
  )
}
