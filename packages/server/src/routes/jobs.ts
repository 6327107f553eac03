import { SKIP_REASONS } from '@holdfast/runtime/internal'
import { z } from '@hono/zod-openapi'
import { ApiError } from '../http/api-error.js'
import { paginate } from '../http/page.js'
import { type BatchJob, JOB_STATUSES } from '../jobs/jobs.js'
import type { Routes } from './routes.js'
import { idParam, pageSchema, pagingParams } from './schemas.js'

export const jobSchema = z
  .object({
    job_id: z.string().describe('The id of the job.'),
    status: z.enum(JOB_STATUSES).describe('The state of the job.'),
    succeeded: z.int().describe('The number of replays that succeeded.'),
    failed: z.int().describe('The number of replays that failed.'),
    skipped: z.int().describe('The number of dead letters that were not replayed.'),
    skips: z
      .array(
        z.object({
          reason: z.enum(Object.keys(SKIP_REASONS) as (keyof typeof SKIP_REASONS)[]).describe(
            Object.entries(SKIP_REASONS)
              .map(([reason, description]) => `\`${reason}\`: ${description}.`)
              .join(' '),
          ),
          count: z.int().describe('The number of dead letters.'),
          operations: z.array(z.string()).describe('The operations that have no handler or are unavailable.'),
        }),
      )
      .describe('Why dead letters were skipped; known when the job has ended.'),
    total: z.int().describe('The number of matching dead letters when the job started.'),
    started_at: z.iso.datetime().describe('When the job started.'),
    ended_at: z.iso.datetime().nullish().describe('When the job ended.'),
    message: z.string().nullish().describe('Why the job failed.'),
  })
  .meta({ id: 'Job' })

/** A job, as on the wire. */
export type WireJob = z.input<typeof jobSchema>

export const encodeJob = ({
  id: name,
  status,
  counts,
  total,
  skips,
  startedAt,
  endedAt,
  message,
}: BatchJob): WireJob => ({
  job_id: name,
  status,
  succeeded: counts.succeeded,
  failed: counts.failed,
  skipped: counts.skipped,
  skips,
  total,
  started_at: startedAt.toISOString(),
  ...(endedAt === undefined ? {} : { ended_at: endedAt.toISOString() }),
  ...(message === undefined ? {} : { message }),
})

/** The routes of batch replays that run in the background. */
export function addJobRoutes({ addRoute, jobs: all }: Routes): void {
  const tag = 'jobs'
  const findJob = (name: string): BatchJob => {
    const job = all.get(name)
    if (job === undefined)
      throw new ApiError(
        'NOT_FOUND',
        `job ${name} not found; only the last 100 jobs of this process are kept`,
      )
    return job
  }

  addRoute(
    {
      method: 'get',
      path: '/jobs',
      id: 'listJobs',
      tag,
      role: 'viewer',
      summary: 'Jobs of this process, newest first',
      query: z.strictObject(pagingParams),
      responses: { 200: { description: 'A page of jobs', schema: pageSchema(jobSchema) } },
    },
    ({ query }) => {
      const { items, ...rest } = paginate(all.list(), (job) => job.id, query)
      return { body: { items: items.map(encodeJob), ...rest } }
    },
  )

  addRoute(
    {
      method: 'get',
      path: '/jobs/{id}',
      id: 'getJob',
      tag,
      role: 'viewer',
      summary: 'The progress of a job',
      params: z.object({ id: idParam('The id of the job.') }),
      responses: { 200: { description: 'The job', schema: jobSchema } },
    },
    ({ params }) => ({ body: encodeJob(findJob(params.id)) }),
  )

  addRoute(
    {
      method: 'post',
      path: '/jobs/{id}/cancel',
      id: 'cancelJob',
      tag,
      role: 'operator',
      summary: 'Cancels a job; replays in progress are completed',
      params: z.object({ id: idParam('The id of the job.') }),
      responses: { 200: { description: 'The job', schema: jobSchema } },
    },
    ({ params }) => {
      const job = findJob(params.id)
      all.cancel(job.id)
      return { body: encodeJob(job) }
    },
  )
}
