import { policyCodec, policySchema, type RetryPolicy } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { isHoldfastError } from 'holdfast'
import { ApiError, problemsOfRuntimeError } from '../http/errors.js'
import { assertPreconditions, createEtag } from '../http/etag.js'
import { paginate } from '../http/page.js'
import { createSerializer } from '../http/serializer.js'
import type { HoldfastLike } from '../runtime-api.js'
import type { RequestActor } from './operation.js'
import type { Routes } from './routes.js'
import { idParam, pageSchema, pagingParams, policyFields, recordSchemas } from './schemas.js'

/** What a PUT may ask of what is there before it. */
export const preconditions = z.object({
  'if-match': z.string().max(1000).optional(),
  'if-none-match': z.string().max(1000).optional(),
})

/** What a GET may say of what its sender has already. */
export const knownTag = preconditions.pick({ 'if-none-match': true })

export const NOT_MODIFIED = { 304: { description: 'It is what If-None-Match names' } } as const

const retryableStatus = z
  .int()
  .refine(
    (status) => [408, 425, 429].includes(status) || (status >= 500 && status <= 599),
    'takes 408, 425, 429 and statuses from 500 to 599',
  )

/** What these are where they are given in part: what may be left out of them in the file may be left out here. */
const PART_DEFAULTS = {
  bulkhead: { queue: 0 },
  hedge: { max: 1 },
  budget: { ratio: 0.2, reserve_per_second: 10, window: 10 },
} as const

const { bulkhead, hedge, budget } = policyFields.shape

const policyChangeSchema = z
  .strictObject({
    ...policyFields.partial().shape,
    bulkhead: bulkhead.unwrap().unwrap().partial({ queue: true }).nullish(),
    hedge: hedge.unwrap().unwrap().partial({ max: true }).nullish(),
    budget: budget.unwrap().unwrap().partial().nullish(),
    retry_status_codes: z.array(retryableStatus).nullish(),
    reason: z.string().max(1000).optional(),
  })
  .meta({ id: 'RetryPolicyChange' })

const toCamelCase = (key: string): string =>
  key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const WIRE_FIELD_BY_NAME = new Map(Object.keys(policySchema.shape).map((key) => [toCamelCase(key), key]))

/** What the runtime says of its own fields, in the wire's words. */
const toWireWords = (text: string): string =>
  text.replace(/\b[a-z]+[A-Z]\w*/g, (word) => WIRE_FIELD_BY_NAME.get(word) ?? word)

/** Of two durations that contradict each other it speaks in milliseconds. */
const toSecondsText = (text: string): string =>
  text.replace(
    /^got ([\d.]+), takes at least (\w+), which is ([\d.]+)$/,
    (_, got: string, least: string, ms: string) =>
      `got ${Number(got) / 1000}, takes at least ${least}, which is ${Number(ms) / 1000}`,
  )

async function putPolicy(
  hf: HoldfastLike,
  policy: Partial<RetryPolicy> & { id: string },
  by: RequestActor,
): Promise<RetryPolicy> {
  try {
    return await hf.policies.put(policy, by)
  } catch (error) {
    if (!isHoldfastError(error, 'CONFIG_INVALID') && !isHoldfastError(error, 'INVALID_OPTIONS')) throw error
    const details = problemsOfRuntimeError(error).map(({ path, message }) => ({
      in: 'body',
      path: toWireWords(path),
      message: toWireWords(toSecondsText(message)),
    }))
    const said = details
      .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
      .join('; ')
    throw new ApiError(error.code, `the body does not fit: ${said}`, { details })
  }
}

/** A body whose parts are whole. */
function withPartDefaults(wire: Record<string, unknown>): Record<string, unknown> {
  const whole = { ...wire }
  for (const [name, standards] of Object.entries(PART_DEFAULTS))
    if (wire[name]) whole[name] = { ...standards, ...(wire[name] as object) }
  return whole
}

/** The fields of a policy that the wire names, in the runtime's spelling. `whole` is any policy, for all the others. */
function decodeFields(wire: object, whole: RetryPolicy): Partial<RetryPolicy> {
  const decoded = policyCodec.decode({ ...policyCodec.encode(whole), ...wire }) as Record<string, unknown>
  return Object.fromEntries(Object.keys(wire).map((key) => [toCamelCase(key), decoded[toCamelCase(key)]]))
}

/** Every policy, read and changed. */
export function addPolicyRoutes({ hf, operation }: Routes): void {
  const inOrder = createSerializer()
  const find = async (name: string): Promise<RetryPolicy | undefined> => {
    try {
      return await hf.policies.get(name)
    } catch (error) {
      if (isHoldfastError(error, 'POLICY_NOT_FOUND')) return undefined
      throw error
    }
  }

  operation(
    {
      method: 'get',
      path: '/policies',
      id: 'listPolicies',
      tag: 'policies',
      role: 'viewer',
      summary: 'All policies with every value filled in',
      query: z.strictObject(pagingParams),
      answers: { 200: { description: 'A page of policies', schema: pageSchema(recordSchemas.policy) } },
    },
    async ({ query }) => {
      const { items, ...rest } = paginate(await hf.policies.list(), (policy) => policy.id, query)
      return { body: { items: items.map(policyCodec.encode), ...rest } }
    },
  )

  const one = { path: '/policies/{id}', tag: 'policies', params: z.object({ id: idParam }) } as const

  operation(
    {
      ...one,
      method: 'get',
      id: 'getPolicy',
      role: 'viewer',
      summary: 'One policy; its ETag is for If-Match',
      headers: knownTag,
      answers: { 200: { description: 'The policy', schema: recordSchemas.policy }, ...NOT_MODIFIED },
    },
    async ({ params }) => {
      const body = policyCodec.encode(await hf.policies.get(params.id))
      return { body, headers: { etag: createEtag(body) } }
    },
  )

  operation(
    {
      ...one,
      method: 'put',
      id: 'putPolicy',
      role: 'admin',
      summary: 'Creates or changes a policy, at once and for good',
      description:
        'It replaces what an earlier one said: fields that are left out come from the layers below, which are the file, its ' +
        'defaults and the built-in ones. What would be in force must fit together. ' +
        'If-Match takes an ETag, so that nobody overwrites what they have not seen; If-None-Match: * only creates. ' +
        'Takes the role admin.',
      headers: preconditions,
      body: policyChangeSchema,
      answers: { 200: { description: 'The policy as it is now', schema: recordSchemas.policy } },
      errors: [412],
    },
    ({ params, headers, body, by, c }) =>
      inOrder(async () => {
        if (body.id !== undefined && body.id !== params.id)
          throw new ApiError('BAD_REQUEST', `the body is about ${body.id}, the path about ${params.id}`, {
            details: [{ in: 'body', path: 'id', message: 'takes the id of the path, or nothing' }],
          })
        const current = await find(params.id)
        assertPreconditions(headers, current && policyCodec.encode(current))
        const {
          reason: _,
          schema: __,
          ...wire
        } = withPartDefaults((await c.req.json()) as Record<string, unknown>)
        const any = current ?? (await hf.policies.get('default'))
        const policy = await putPolicy(hf, { ...decodeFields(wire, any), id: params.id }, by)
        const answer = policyCodec.encode(policy)
        return { body: answer, headers: { etag: createEtag(answer) } }
      }),
  )

  operation(
    {
      ...one,
      method: 'delete',
      id: 'deletePolicy',
      role: 'admin',
      summary: 'Deletes a policy that no operation is mapped to',
      headers: preconditions,
      answers: { 204: { description: 'It is gone' } },
      errors: [409, 412],
    },
    ({ params, headers, by }) =>
      inOrder(async () => {
        const current = await find(params.id)
        if (current !== undefined) assertPreconditions(headers, policyCodec.encode(current))
        await hf.policies.delete(params.id, by)
        return { status: 204 }
      }),
  )
}
