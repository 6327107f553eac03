import { policyCodec, type RetryPolicy } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { isHoldfastError } from 'holdfast'
import { isRetryableStatus, RETRYABLE_STATUS } from 'holdfast/internal'
import { ApiError } from '../http/api-error.js'
import { problemsOf } from '../http/error-handler.js'
import { assertPreconditions, createEtag } from '../http/etag.js'
import { paginate } from '../http/page.js'
import { createSerializer } from '../http/serializer.js'
import { createFieldErrors, expecting, fieldError } from '../http/validation.js'
import type { HoldfastLike } from '../runtime-api.js'
import type { RequestActor } from './add-route.js'
import { knownTag, NOT_MODIFIED, preconditions } from './preconditions.js'
import type { Routes } from './routes.js'
import {
  booleanParam,
  idParam,
  pageSchema,
  pagingParams,
  policyFields,
  reasonField,
  recordSchemas,
} from './schemas.js'

const retryableStatus = z.int().refine(isRetryableStatus, { error: expecting(RETRYABLE_STATUS) })

const { bulkhead, hedge, budget } = policyFields.shape

/** The fields of a policy whose value is an object. */
type PolicyPartName = {
  [Name in keyof RetryPolicy]-?: NonNullable<RetryPolicy[Name]> extends Readonly<Record<string, unknown>>
    ? Name
    : never
}[keyof RetryPolicy]

/** The parts of a policy in a change, from which fields with a default can be left out. A missing part does not compile. */
const policyPartChanges = {
  bulkhead: bulkhead.unwrap().unwrap().partial({ queue: true }).nullish(),
  hedge: hedge.unwrap().unwrap().partial({ max: true }).nullish(),
  budget: budget.unwrap().unwrap().partial().nullish(),
} satisfies Record<PolicyPartName, z.ZodType>

const policyChangeSchema = z
  .strictObject({
    ...policyFields.partial().shape,
    ...policyPartChanges,
    retry_status_codes: z.array(retryableStatus).nullish(),
    reason: reasonField,
  })
  .meta({ id: 'RetryPolicyChange' })

/** Puts a policy. The runtime checks it as it checks the file: its problems have the field names and units of the wire. */
async function putPolicy(hf: HoldfastLike, policy: { id: string }, by: RequestActor): Promise<RetryPolicy> {
  try {
    return await hf.config.putWirePolicy(policy, by)
  } catch (error) {
    if (isHoldfastError(error, 'CONFIG_INVALID') || isHoldfastError(error, 'INVALID_OPTIONS'))
      throw createFieldErrors('body', problemsOf(error), error.code)
    throw error
  }
}

/** The routes of policies. */
export function addPolicyRoutes({ hf, addRoute }: Routes): void {
  const inOrder = createSerializer()
  const find = async (name: string): Promise<RetryPolicy | undefined> => {
    try {
      return await hf.policies.get(name)
    } catch (error) {
      if (isHoldfastError(error, 'POLICY_NOT_FOUND')) return undefined
      throw error
    }
  }

  addRoute(
    {
      method: 'get',
      path: '/policies',
      id: 'listPolicies',
      tag: 'policies',
      role: 'viewer',
      summary: 'All policies with all their values, defaults included',
      query: z.strictObject(pagingParams),
      responses: { 200: { description: 'A page of policies', schema: pageSchema(recordSchemas.policy) } },
    },
    async ({ query }) => {
      const { items, ...rest } = paginate(await hf.policies.list(), (policy) => policy.id, query)
      return { body: { items: items.map(policyCodec.encode), ...rest } }
    },
  )

  const one = {
    path: '/policies/{id}',
    tag: 'policies',
    params: z.object({ id: idParam('The id of the policy.') }),
  } as const

  addRoute(
    {
      ...one,
      method: 'get',
      id: 'getPolicy',
      role: 'viewer',
      summary: 'One policy; its ETag is for If-Match',
      query: z.strictObject({
        live_changes: booleanParam(
          'False for the policy of the file, without live changes. The default is true.',
        ),
      }),
      headers: knownTag,
      responses: { 200: { description: 'The policy', schema: recordSchemas.policy }, ...NOT_MODIFIED },
    },
    async ({ params, query }) => {
      const filed = query.live_changes === false ? hf.config.filePolicy(params.id) : undefined
      if (query.live_changes === false && filed === undefined)
        throw new ApiError('POLICY_NOT_FOUND', `the file has no policy ${JSON.stringify(params.id)}`)
      const body = policyCodec.encode(filed ?? (await hf.policies.get(params.id)))
      return { body, headers: { etag: createEtag(body) } }
    },
  )

  addRoute(
    {
      ...one,
      method: 'put',
      id: 'putPolicy',
      role: 'admin',
      summary: 'Creates or replaces a policy; the change applies immediately and is stored',
      description:
        'Replaces an earlier PUT: fields that are left out come from the file, its defaults and the built-in defaults. ' +
        'The resulting values are checked together. If-Match with an ETag prevents lost updates; If-None-Match: * only ' +
        'creates. Requires the role admin.',
      headers: preconditions,
      body: policyChangeSchema,
      responses: { 200: { description: 'The policy after the change', schema: recordSchemas.policy } },
      errors: ['PRECONDITION_FAILED'],
    },
    ({ params, headers, json, actor }) =>
      inOrder(async () => {
        const { reason: _, ...policy } = json
        if (policy.id !== undefined && policy.id !== params.id)
          throw fieldError(
            'body',
            'id',
            `expected the id of the path (${params.id}) or none, got ${policy.id}`,
          )
        const current = await find(params.id)
        assertPreconditions(headers, current && policyCodec.encode(current))
        const answer = policyCodec.encode(await putPolicy(hf, { ...policy, id: params.id }, actor))
        return { body: answer, headers: { etag: createEtag(answer) } }
      }),
  )

  addRoute(
    {
      ...one,
      method: 'delete',
      id: 'deletePolicy',
      role: 'admin',
      summary: 'Deletes a policy that no operation is mapped to',
      headers: preconditions,
      responses: { 204: { description: 'The policy is deleted' } },
      errors: ['POLICY_IN_USE', 'PRECONDITION_FAILED'],
    },
    ({ params, headers, actor }) =>
      inOrder(async () => {
        const current = await find(params.id)
        if (current !== undefined) assertPreconditions(headers, policyCodec.encode(current))
        await hf.policies.delete(params.id, actor)
        return { status: 204 }
      }),
  )
}
