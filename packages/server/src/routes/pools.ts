import { proxyMember } from '@holdfast/proxy'
import { redactUrls } from '@holdfast/runtime/config'
import { countMembers, MEMBER_STATUSES } from '@holdfast/runtime/internal'
import { z } from '@hono/zod-openapi'
import { isHoldfastError, type Member, type Pool } from 'holdfast'
import { ApiError } from '../http/api-error.js'
import { paginate } from '../http/page.js'
import type { Routes } from './routes.js'
import { idParam, pageSchema, pagingParams, reasonField } from './schemas.js'

const memberStatus = z.enum(MEMBER_STATUSES)

const poolSchema = z
  .object({
    id: z.string().describe('The id of the pool.'),
    size: z.int().describe('The number of members.'),
    by_status: z.record(z.string(), z.int()).describe('The number of members in each status.'),
  })
  .meta({ id: 'Pool' })

const memberSchema = z
  .object({
    id: z.string().describe('The id of the member.'),
    url: z.string().nullish().describe('The URL without credentials; absent if it could contain some.'),
    weight: z.number().describe('The relative frequency with which the member is selected.'),
    region: z.string().nullish().describe('The region of the member.'),
    cost: z.number().nullish().describe('The cost of a call through the member.'),
    tags: z.array(z.string()).nullish().describe('Labels of the member.'),
    status: memberStatus.describe('The status of the member in its pool.'),
    enabled: z.boolean().describe('False for a disabled member: it gets no calls until it is enabled.'),
    draining: z
      .boolean()
      .describe('Whether the member is draining: it gets no new calls, for example before a restart.'),
    total_attempts: z.int().describe('The number of attempts.'),
    success_count: z.int().describe('The number of successful attempts.'),
    failure_count: z.int().describe('The number of failed attempts.'),
    success_rate: z
      .number()
      .nullish()
      .describe('The fraction of successful attempts; absent without attempts.'),
    avg_latency: z.number().describe('The average duration of an attempt in seconds.'),
    circuit_breaker_opens: z.int().describe('How often the breaker of the member opened.'),
    score: z.number().nullish().describe('The score of the strategy `score`.'),
  })
  .meta({ id: 'PoolMember' })

/** A pool, as on the wire. */
export type WirePool = z.input<typeof poolSchema>

/** A member of a pool, as on the wire. */
export type WireMember = z.input<typeof memberSchema>

const weight = z
  .number()
  .min(0)
  .max(1_000_000)
  .optional()
  .describe('The relative frequency with which the member is selected.')

const newMemberSchema = z
  .strictObject({
    id: idParam('The id of the member. Default: host and port of its URL.').optional(),
    url: z.string().min(1).max(2000).describe('The URL of the member; it can contain credentials.'),
    weight,
    region: z.string().min(1).max(200).optional().describe('The region of the member.'),
    reason: reasonField,
  })
  .meta({ id: 'NewPoolMember' })

const memberChangeSchema = z
  .strictObject({
    enabled: z
      .boolean()
      .optional()
      .describe('False: no calls until it is true again. True also ends draining.'),
    draining: z.boolean().optional().describe('True: no new calls. False ends draining.'),
    weight,
    reason: reasonField,
  })
  .refine(({ enabled, draining }) => enabled !== true || draining !== true, {
    path: ['draining'],
    message: 'expected enabled or draining, got both',
  })
  .meta({ id: 'PoolMemberChange' })

/** The URL of a member; undefined where it could contain credentials. */
function displayUrl(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const text = (value as { toString(): string }).toString()
  return /^[a-z][a-z\d+.-]*:\/\/[^\s@]*$/i.test(text) ? redactUrls(text) : undefined
}

function encodeMember(hf: Routes['hf'], pool: Pool, member: Member) {
  const { totalAttempts, successCount, failureCount, avgLatency, circuitBreakerOpens, score } = pool.stats(
    member.id,
  )
  const counted = successCount + failureCount
  const url = displayUrl(member.value)
  const status = hf.pools.memberStatus(pool.id, member.id)
  return {
    id: member.id,
    ...(url === undefined ? {} : { url }),
    weight: member.weight ?? 1,
    ...(member.region === undefined ? {} : { region: member.region }),
    ...(member.cost === undefined ? {} : { cost: member.cost }),
    ...(member.tags === undefined ? {} : { tags: member.tags }),
    status,
    enabled: status !== 'disabled',
    draining: status === 'drained',
    total_attempts: totalAttempts,
    success_count: successCount,
    failure_count: failureCount,
    ...(counted === 0 ? {} : { success_rate: successCount / counted }),
    avg_latency: Math.round(avgLatency * 1000) / 1e6,
    circuit_breaker_opens: circuitBreakerOpens,
    ...(score === undefined ? {} : { score }),
  }
}

/** The pool of this name. @throws ApiError NOT_FOUND where it does not exist */
export function findPool(hf: Routes['hf'], name: string): Pool {
  try {
    return hf.pools.get(name)
  } catch (error) {
    if (!isHoldfastError(error, 'INVALID_OPTIONS')) throw error
    throw new ApiError('NOT_FOUND', `pool ${name} not found; GET /api/v1/pools lists all pools`)
  }
}

/** The routes of pools and their members. */
export function addPoolRoutes({ hf, addRoute }: Routes): void {
  const tag = 'pools'

  const assertMember = (pool: Pool, name: string): void => {
    if (!pool.members().some(({ id }) => id === name))
      throw new ApiError('NOT_FOUND', `member ${name} of pool ${pool.id} not found`)
  }

  addRoute(
    {
      method: 'get',
      path: '/pools',
      id: 'listPools',
      tag,
      role: 'viewer',
      summary: 'All pools with the number of members in each status',
      query: z.strictObject(pagingParams),
      responses: { 200: { description: 'A page of pools', schema: pageSchema(poolSchema) } },
    },
    async ({ query }) => {
      const { items, ...rest } = paginate(await hf.pools.list(), (pool) => pool.id, query)
      const pools: WirePool[] = []
      for (const { id } of items) {
        const found = await countMembers(hf.pools, id)
        if (found !== undefined) pools.push({ id, size: found.size, by_status: found.byStatus })
      }
      return { body: { items: pools, ...rest } }
    },
  )

  const of = {
    tag,
    path: '/pools/{id}/members',
    params: z.object({ id: idParam('The id of the pool.') }),
  } as const

  addRoute(
    {
      ...of,
      method: 'get',
      id: 'listPoolMembers',
      role: 'viewer',
      summary: 'The members of a pool with their status and statistics',
      query: z.strictObject(pagingParams),
      responses: { 200: { description: 'A page of members', schema: pageSchema(memberSchema) } },
    },
    ({ params, query }) => {
      const pool = findPool(hf, params.id)
      const { items, ...rest } = paginate(pool.members(), (member) => member.id, query)
      return { body: { items: items.map((member) => encodeMember(hf, pool, member)), ...rest } }
    },
  )

  addRoute(
    {
      ...of,
      method: 'post',
      id: 'addPoolMember',
      role: 'operator',
      summary: 'Adds a member',
      description:
        'The default id is the host and port of the URL. Like every change through the API it survives a ' +
        'restart, and can be rolled back. Requires the role operator.',
      body: newMemberSchema,
      responses: { 201: { description: 'The member', schema: memberSchema } },
    },
    async ({ params, body, actor }) => {
      const pool = findPool(hf, params.id)
      const { reason: _, ...input } = body
      // Validates the URL; the error does not repeat it, because it can contain credentials.
      const { id: named } = proxyMember(body.url)
      const member = await hf.pools.addMember(pool.id, { id: named, ...input }, actor)
      return { status: 201, body: encodeMember(hf, findPool(hf, pool.id), member) }
    },
  )

  const one = {
    tag,
    path: '/pools/{id}/members/{member}',
    params: z.object({ id: idParam('The id of the pool.'), member: idParam('The id of the member.') }),
    role: 'operator',
  } as const

  addRoute(
    {
      ...one,
      method: 'patch',
      id: 'changePoolMember',
      summary: 'Disables, drains or enables a member, or changes its weight',
      description:
        'A disabled or draining member gets no new calls; calls in flight continue. `enabled: true` ends both, ' +
        '`draining: false` only draining. Requires the role operator.',
      body: memberChangeSchema,
      responses: { 200: { description: 'The member', schema: memberSchema } },
    },
    async ({ params, body, actor }) => {
      const pool = findPool(hf, params.id)
      assertMember(pool, params.member)
      const { reason: _, ...update } = body
      const member = await hf.pools.changeMember(pool.id, params.member, update, actor)
      return { body: encodeMember(hf, findPool(hf, pool.id), member) }
    },
  )

  addRoute(
    {
      ...one,
      method: 'delete',
      id: 'removePoolMember',
      summary: 'Removes a member; its calls in flight continue',
      responses: { 204: { description: 'The member is removed' } },
    },
    async ({ params, actor }) => {
      const pool = findPool(hf, params.id)
      assertMember(pool, params.member)
      await hf.pools.removeMember(pool.id, params.member, actor)
      return { status: 204 }
    },
  )
}
