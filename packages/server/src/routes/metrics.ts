import { HOUR_MS } from '@holdfast/records/constants'
import {
  byMemberCodec,
  byOperationCodec,
  type MetricsByOperation,
  seriesCodec,
  summaryCodec,
  windowCodec,
} from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { nextMacrotask } from 'holdfast/internal'
import { respondWithJson, serializeFieldsInTurns, serializeInTurns } from '../http/json-list.js'
import { fieldError } from '../http/validation.js'
import type { Routes } from './routes.js'
import { hoursParam, optionalWord, recordSchemas, stepParam, timeRangeParams } from './schemas.js'

/** The routes of metrics. */
export function addMetricsRoutes({ hf, addRoute, settings }: Routes): void {
  /** A time range with its defaults. @throws BAD_REQUEST where it ends before it begins */
  const parseRange = (range: { from?: Date | undefined; to?: Date | undefined }) => {
    const to = range.to ?? new Date(settings.clock.wall())
    const from = range.from ?? new Date(to.getTime() - HOUR_MS)
    if (from <= to) return { from, to }
    throw fieldError(
      'query',
      'from',
      `expected a time before to (${to.toISOString()}), got ${from.toISOString()}`,
    )
  }
  const base = { method: 'get', tag: 'metrics', role: 'viewer', reads: 'metrics.read' } as const

  addRoute(
    {
      ...base,
      path: '/metrics/retries',
      id: 'getRetryMetrics',
      summary: 'Summary of retries in the retention period',
      responses: { 200: { description: 'The summary', schema: recordSchemas.summary } },
    },
    async () => ({ body: summaryCodec.encode(await hf.metrics.summary()) }),
  )

  addRoute(
    {
      ...base,
      path: '/metrics/retries/timeseries',
      id: 'getRetryTimeseries',
      summary: 'Calls and retries by hour or day, oldest first',
      query: z.strictObject({
        hours: hoursParam,
        step: z.enum(['hour', 'day']).optional().describe('The time between two points. Default: hour.'),
      }),
      responses: { 200: { description: 'One point per hour or per day', schema: recordSchemas.series } },
    },
    async ({ query }) => ({ body: seriesCodec.encode(await hf.metrics.timeseries(query)) }),
  )

  addRoute(
    {
      ...base,
      path: '/metrics/retries/by-proxy',
      id: 'getRetriesByProxy',
      summary: 'Attempts and failures of each pool member',
      query: z.strictObject({ hours: hoursParam }),
      responses: { 200: { description: 'Counters by member', schema: recordSchemas.byMember } },
    },
    async ({ query, honoContext }) => {
      const { proxies } = await hf.metrics.byMember(query)
      const counts = await serializeFieldsInTurns(
        proxies,
        (id, member) => byMemberCodec.encode({ proxies: { [id]: member } }).proxies[id],
      )
      return respondWithJson(honoContext, `{"proxies":${counts}}`)
    },
  )

  addRoute(
    {
      ...base,
      path: '/metrics/window',
      id: 'getMetricsWindow',
      summary: 'All counters between two points in time',
      description:
        'The default of `from` is one hour before `to`, the default of `to` is now. Requires the role viewer.',
      query: z.strictObject(timeRangeParams),
      responses: { 200: { description: 'The window', schema: recordSchemas.window } },
    },
    async ({ query }) => ({ body: windowCodec.encode(await hf.metrics.window(parseRange(query))) }),
  )

  addRoute(
    {
      ...base,
      path: '/metrics/operations',
      id: 'getOperationMetrics',
      summary: 'Calls of each operation by minute, between two points in time',
      description:
        'The default of `from` is one hour before `to`, the default of `to` is now. At most 500 operations are listed; all ' +
        'others are added up as `other`. A result with more than 100,000 points is rejected: use a longer `step`. ' +
        'Requires the role viewer.',
      query: z.strictObject({
        ...timeRangeParams,
        step: stepParam,
        operation: optionalWord('Only this operation.'),
      }),
      responses: { 200: { description: 'The calls of each operation', schema: recordSchemas.byOperation } },
    },
    async ({ query: { step, operation, ...range }, honoContext }) => {
      const metrics = await hf.metrics.operations({
        ...parseRange(range),
        ...(step !== undefined && { step: step * 1000 }),
        ...(operation !== undefined && { operation }),
      })
      return respondWithJson(honoContext, await serializeOperations(metrics))
    },
  )
}

/**
 * The JSON of the metrics of operations, which can be 20 MB. Each operation is serialized in a turn of the event loop, so that other
 * requests and calls do not wait for all of them.
 */
async function serializeOperations(metrics: MetricsByOperation): Promise<string> {
  const { operations: _none, ...head } = byOperationCodec.encode({ ...metrics, operations: [] })
  const withoutPoints = { ...metrics, total: { ...metrics.total, dataPoints: [] } }
  await nextMacrotask()
  const list = await serializeInTurns(
    metrics.operations,
    (operation) => byOperationCodec.encode({ ...withoutPoints, operations: [operation] }).operations[0],
    1,
  )
  return `${JSON.stringify(head).slice(0, -1)},"operations":${list}}`
}
