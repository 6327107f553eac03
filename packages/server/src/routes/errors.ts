import { ERROR_CATEGORIES } from '@holdfast/records/constants'
import { errorRecordCodec, SEVERITIES } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { ApiError } from '../http/api-error.js'
import { respondWithPage } from '../http/json-list.js'
import type { HoldfastLike } from '../runtime-api.js'
import type { Routes } from './routes.js'
import {
  idParam,
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

const groupFields = {
  group_id: z.string().describe('The id of the group: the same for the same kind, operation and message.'),
  kind: z.string().describe('The kind of failure.'),
  operation: z.string().describe('The operation; empty if the records have none.'),
  message: z
    .string()
    .describe('The message; placeholders such as `<n>` replace the parts that differ between records.'),
  error_type: z.string().describe('The name of the error class of the newest record.'),
  http_status: z.int().optional().describe('The HTTP status, if there is one.'),
  count: z.int().describe('The number of error records, one per failed attempt.'),
  first_seen: z.iso.datetime().describe('The time of the oldest record.'),
  last_seen: z.iso.datetime().describe('The time of the newest record.'),
  trend: z
    .array(z.int())
    .describe('The number of records in each of 24 equal parts of the time range, the oldest first.'),
  session_id: z.string().optional().describe('The session of the newest record, if it has one.'),
}

const groupSchema = z.object(groupFields).meta({ id: 'ErrorGroup' })

const groupsSchema = z
  .object({
    items: z.array(groupSchema).describe('The groups of error records.'),
    from: z.iso
      .datetime()
      .describe('The start of the covered time range; later than requested if there were too many records.'),
    to: z.iso.datetime().describe('The end of the covered time range.'),
    scanned: z.int().describe('The number of records that were read.'),
    complete: z.boolean().describe('Whether all records of the requested time range were read.'),
  })
  .meta({ id: 'ErrorGroups' })

const groupDetailsSchema = z
  .object({
    ...groupFields,
    records: z.array(recordSchemas.error).describe('The newest records of the group, at most 100.'),
  })
  .meta({ id: 'ErrorGroupDetails' })

/** A group of error records, as on the wire. */
export type WireErrorGroup = z.input<typeof groupSchema>

/** Groups of error records, as on the wire. */
export type WireErrorGroups = z.input<typeof groupsSchema>

/** A group with its newest records, as on the wire. */
export type WireErrorGroupDetails = z.input<typeof groupDetailsSchema>

type RuntimeGroup = Awaited<ReturnType<HoldfastLike['errors']['groups']>>['items'][number]

const encodeGroup = (group: RuntimeGroup): WireErrorGroup => ({
  group_id: group.groupId,
  kind: group.kind,
  operation: group.operation,
  message: group.message,
  error_type: group.errorType,
  ...(group.httpStatus !== undefined && { http_status: group.httpStatus }),
  count: group.count,
  first_seen: group.firstSeen.toISOString(),
  last_seen: group.lastSeen.toISOString(),
  trend: [...group.trend],
  ...(group.sessionId !== undefined && { session_id: group.sessionId }),
})

/** The query parameters that select error records. */
const selectionParams = {
  ...timeRangeParams,
  severity: caseInsensitiveEnum(SEVERITIES, 'Only records of this severity.'),
  category: caseInsensitiveEnum(ERROR_CATEGORIES, 'Only records of this category.'),
  operation: optionalWord('Only records of this operation.'),
}

/** The query parameters that select groups. */
const groupSelectionParams = {
  ...selectionParams,
  kind: optionalWord('Only records of this kind of failure.'),
}

/** The routes of error records. */
export function addErrorRoutes({ hf, addRoute }: Routes): void {
  addRoute(
    {
      method: 'get',
      path: '/errors',
      id: 'listErrors',
      tag: 'errors',
      role: 'viewer',
      summary: 'Records of failed attempts, newest first',
      query: z.strictObject({
        ...pagingParams,
        ...selectionParams,
        order: orderParam,
      }),
      responses: { 200: { description: 'A page of error records', schema: pageSchema(recordSchemas.error) } },
    },
    async ({ query, honoContext }) =>
      respondWithPage(honoContext, 'items', await hf.errors.list(query), errorRecordCodec.encode),
  )

  addRoute(
    {
      method: 'get',
      path: '/errors/groups',
      id: 'listErrorGroups',
      tag: 'errors',
      role: 'viewer',
      summary: 'Errors grouped by kind, message and operation, the largest group first',
      description:
        'Ids, times and numbers in messages are replaced by placeholders, so that records that differ only in them form ' +
        'one group. The default time range is the last 24 hours. At most 20,000 records are read, the newest ones: ' +
        '`complete` is false if there are more. Requires the role viewer.',
      query: z.strictObject({ limit: pagingParams.limit, ...groupSelectionParams }),
      responses: { 200: { description: 'The groups', schema: groupsSchema } },
    },
    async ({ query }) => {
      const { items, from, to, ...rest } = await hf.errors.groups(query)
      const range = { from: from.toISOString(), to: to.toISOString() }
      return { body: { items: items.map(encodeGroup), ...range, ...rest } }
    },
  )

  addRoute(
    {
      method: 'get',
      path: '/errors/groups/{id}',
      id: 'getErrorGroup',
      tag: 'errors',
      role: 'viewer',
      summary: 'One group of errors with its newest records',
      params: z.object({ id: idParam('The id of the group.') }),
      query: z.strictObject(groupSelectionParams),
      responses: { 200: { description: 'The group', schema: groupDetailsSchema } },
      errors: ['NOT_FOUND'],
    },
    async ({ params, query }) => {
      const group = await hf.errors.group(params.id, query)
      if (group === undefined)
        throw new ApiError('NOT_FOUND', `no error of the group ${params.id} in this time range`)
      return { body: { ...encodeGroup(group), records: group.records.map(errorRecordCodec.encode) } }
    },
  )
}
