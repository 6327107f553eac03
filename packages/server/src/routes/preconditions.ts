import { z } from '@hono/zod-openapi'

/** The headers with which a PUT or DELETE depends on the current state. */
export const preconditions = z.object({
  'if-match': z.string().max(1000).optional().describe('The ETag that the resource must have.'),
  'if-none-match': z
    .string()
    .max(1000)
    .optional()
    .describe('The ETag that the resource must not have; `*`: it must not exist.'),
})

/** The header of a GET with the ETag that the client has already. */
export const knownTag = z.object({
  'if-none-match': z.string().max(1000).optional().describe('The ETag that the client has already.'),
})

export const NOT_MODIFIED = {
  304: { description: 'Not modified: If-None-Match has the current ETag' },
} as const
