import { z } from '@hono/zod-openapi'
import { Refusal } from '../answer/failure.js'
import { pageOf } from '../answer/page.js'
import type { Job } from '../jobs/jobs.js'
import type { Routes } from './routes.js'
import { id, pageSchema, paging } from './shapes.js'

export const jobSchema = z
  .object({
    job_id: z.string(),
    status: z.enum(['running', 'succeeded', 'failed', 'cancelled']),
    succeeded: z.int(),
    failed: z.int(),
    skipped: z.int(),
    total: z.int().nullish(),
    started_at: z.iso.datetime(),
    ended_at: z.iso.datetime().nullish(),
    message: z.string().nullish(),
  })
  .meta({ id: 'Job' })

export const jobWire = ({ id: name, status, counts, total, startedAt, endedAt, message }: Job) => ({
  job_id: name,
  status,
  succeeded: counts.succeeded,
  failed: counts.failed,
  skipped: counts.skipped,
  ...(total === undefined ? {} : { total }),
  started_at: startedAt.toISOString(),
  ...(endedAt === undefined ? {} : { ended_at: endedAt.toISOString() }),
  ...(message === undefined ? {} : { message }),
})

/** Work that takes longer than a request. */
export function jobs({ operation, jobs: all }: Routes): void {
  const tag = 'jobs'
  const found = (name: string): Job => {
    const job = all.get(name)
    if (job === undefined)
      throw new Refusal(
        'NOT_FOUND',
        `there is no job ${name}: jobs are kept in memory, the last hundred of them`,
      )
    return job
  }

  operation(
    {
      method: 'get',
      path: '/jobs',
      id: 'listJobs',
      tag,
      role: 'viewer',
      summary: 'Jobs of this process, newest first',
      query: z.strictObject(paging),
      answers: { 200: { description: 'A page of jobs', schema: pageSchema(jobSchema) } },
    },
    ({ query }) => {
      const { items, ...rest } = pageOf(all.list(), (job) => job.id, query)
      return { body: { items: items.map(jobWire), ...rest } }
    },
  )

  operation(
    {
      method: 'get',
      path: '/jobs/{id}',
      id: 'getJob',
      tag,
      role: 'viewer',
      summary: 'How far a job is',
      params: z.object({ id }),
      answers: { 200: { description: 'The job', schema: jobSchema } },
    },
    ({ params }) => ({ body: jobWire(found(params.id)) }),
  )

  operation(
    {
      method: 'post',
      path: '/jobs/{id}/cancel',
      id: 'cancelJob',
      tag,
      role: 'operator',
      summary: 'Starts nothing more of a job; what runs is finished',
      params: z.object({ id }),
      answers: { 200: { description: 'The job', schema: jobSchema } },
    },
    ({ params }) => {
      const job = found(params.id)
      all.cancel(job.id)
      return { body: jobWire(job) }
    },
  )
}
