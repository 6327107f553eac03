import { byMemberCodec, seriesCodec, summaryCodec, windowCodec } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { fieldError } from '../http/validation.js'
import type { Routes } from './routes.js'
import { hoursParam, recordSchemas, timeRangeParams } from './schemas.js'

/** The routes of metrics. */
export function addMetricsRoutes({ hf, operation, settings }: Routes): void {
  const base = { method: 'get', tag: 'metrics', role: 'viewer', reads: 'metrics.read' } as const

  operation(
    {
      ...base,
      path: '/metrics/retries',
      id: 'getRetryMetrics',
      summary: 'Summary of retries in the retention period',
      answers: { 200: { description: 'The summary', schema: recordSchemas.summary } },
    },
    async () => ({ body: summaryCodec.encode(await hf.metrics.summary()) }),
  )

  operation(
    {
      ...base,
      path: '/metrics/retries/timeseries',
      id: 'getRetryTimeseries',
      summary: 'Calls and retries by hour or day, oldest first',
      query: z.strictObject({
        hours: hoursParam,
        step: z.enum(['hour', 'day']).optional().describe('The time between two points. Default: hour.'),
      }),
      answers: { 200: { description: 'One point per hour or per day', schema: recordSchemas.series } },
    },
    async ({ query }) => ({ body: seriesCodec.encode(await hf.metrics.timeseries(query)) }),
  )

  operation(
    {
      ...base,
      path: '/metrics/retries/by-proxy',
      id: 'getRetriesByProxy',
      summary: 'Attempts and failures of each pool member',
      query: z.strictObject({ hours: hoursParam }),
      answers: { 200: { description: 'Counters by member', schema: recordSchemas.byMember } },
    },
    async ({ query }) => ({ body: byMemberCodec.encode(await hf.metrics.byMember(query)) }),
  )

  operation(
    {
      ...base,
      path: '/metrics/window',
      id: 'getMetricsWindow',
      summary: 'All counters between two points in time',
      description:
        'The default of `from` is one hour before `to`, the default of `to` is now. Requires the role viewer.',
      query: z.strictObject(timeRangeParams),
      answers: { 200: { description: 'The window', schema: recordSchemas.window } },
    },
    async ({ query }) => {
      const to = query.to ?? new Date(settings.clock.wall())
      const from = query.from ?? new Date(to.getTime() - 3_600_000)
      if (from > to)
        throw fieldError(
          'query',
          'from',
          `expected a time before to (${to.toISOString()}), got ${from.toISOString()}`,
        )
      return { body: windowCodec.encode(await hf.metrics.window({ from, to })) }
    },
  )
}
