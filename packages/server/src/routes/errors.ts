import { errorRecordCodec, SEVERITIES } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import type { Routes } from './routes.js'
import { order, pageSchema, paging, range, shapes, word } from './shapes.js'

/** Upper case or lower, as people write it. */
const capitals = <const T extends readonly [string, ...string[]]>(words: T) =>
  z
    .string()
    .transform((text) => text.toUpperCase())
    .pipe(z.enum(words))
    .optional()
    .openapi({ type: 'string', enum: [...words] })

/** Failed attempts, as operators read them. */
export function errors({ hf, operation }: Routes): void {
  operation(
    {
      method: 'get',
      path: '/errors',
      id: 'listErrors',
      tag: 'errors',
      role: 'viewer',
      summary: 'Failed attempts, newest first',
      query: z.strictObject({
        ...paging,
        ...range,
        order,
        severity: capitals(SEVERITIES),
        category: capitals(['TRANSIENT', 'PERMANENT', 'CRITICAL']),
        operation: word,
      }),
      answers: { 200: { description: 'A page of error records', schema: pageSchema(shapes.error) } },
    },
    async ({ query }) => {
      const { items, ...rest } = await hf.errors.list(query)
      return { body: { items: items.map(errorRecordCodec.encode), ...rest } }
    },
  )
}
