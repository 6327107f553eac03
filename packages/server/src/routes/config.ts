import { encodeExplanation } from '@holdfast/runtime'
import { z } from '@hono/zod-openapi'
import { ApiError } from '../http/api-error.js'
import { readText } from '../http/body.js'
import { encodeConfig, redactChanges } from '../http/config-wire.js'
import { paginate } from '../http/page.js'
import { expecting } from '../http/validation.js'
import type { Routes } from './routes.js'
import { idParam, pageSchema, pagingParams, reasonBody, reasonField, recordSchemas } from './schemas.js'

const configSchema = z.record(z.string(), z.unknown()).meta({ id: 'Config' })

const versionSchema = z
  .object({
    version: z.int().describe('The number of the version, from 1.'),
    by: z.string().describe('Who made the change.'),
    reason: z.string().nullish().describe('Why the change was made.'),
    at: z.iso.datetime().describe('When the change was made.'),
  })
  .meta({ id: 'ConfigVersion' })

const differenceSchema = z
  .object({
    path: z.string().describe('The path of the value in a config file.'),
    before: z
      .unknown()
      .optional()
      .describe('The value before; absent if the value of the file applied, null if it was removed.'),
    after: z
      .unknown()
      .optional()
      .describe('The value after; absent if the value of the file applies, null if it is removed.'),
  })
  .meta({ id: 'ConfigDifference' })

const versionParam = (description: string) =>
  z
    .string()
    .regex(/^\d{1,9}$/, { error: expecting('a version') })
    .transform(Number)
    .openapi({ type: 'integer', minimum: 0, description })

const validationSchema = z
  .object({
    valid: z.boolean().describe('Whether the config has no problems.'),
    errors: z
      .array(
        z.object({
          path: z.string(),
          line: z.int().nullish(),
          column: z.int().nullish(),
          message: z.string(),
        }),
      )
      .describe('All problems, with their positions.'),
  })
  .meta({ id: 'ConfigValidation' })

/** A value that differs between two versions of the live changes, as on the wire. */
export type WireConfigDifference = z.input<typeof differenceSchema>

/** The result of a check, as on the wire. */
export type WireValidation = z.input<typeof validationSchema>

/** How many texts are validated or wait for it, because they need memory and one is validated at a time. */
const MAX_VALIDATIONS = 20

const NOT_UTF8 = { path: '', message: 'expected valid UTF-8, got other bytes' }

/** The routes of the config file and of the live changes. */
export function addConfigRoutes({ hf, addRoute }: Routes): void {
  const tag = 'config'
  let validations = 0
  const currentConfig = async () => ({ body: await encodeConfig(hf.config) })
  const responses = {
    200: { description: 'The effective configuration, without secrets', schema: configSchema },
  }

  addRoute(
    {
      method: 'get',
      path: '/config',
      id: 'getConfig',
      tag,
      role: 'viewer',
      summary: 'The effective configuration, without secrets',
      responses,
    },
    currentConfig,
  )

  addRoute(
    {
      method: 'post',
      path: '/config/validate',
      id: 'validateConfig',
      tag,
      role: 'viewer',
      summary: 'Checks the text of a config file without applying it',
      rawBody: {
        description: 'The text of a config file in YAML or JSON. The content type is ignored.',
        types: ['application/yaml', 'text/plain', 'application/json'],
      },
      responses: { 200: { description: 'The problems with their positions', schema: validationSchema } },
    },
    async ({ honoContext }) => {
      const text = await readText(honoContext)
      if (text === undefined) return { body: { valid: false, errors: [NOT_UTF8] } }
      if (validations >= MAX_VALIDATIONS)
        throw new ApiError(
          'RATE_LIMITED',
          `expected at most ${MAX_VALIDATIONS} texts to validate at a time, got one more`,
          { headers: { 'retry-after': '5' } },
        )
      validations++
      try {
        const { valid, errors } = await hf.config.validate(text)
        return { body: { valid, errors } }
      } finally {
        validations--
      }
    },
  )

  addRoute(
    {
      method: 'post',
      path: '/config/reload',
      id: 'reloadConfig',
      tag,
      role: 'admin',
      summary: 'Reloads the config file',
      optionalBody: reasonBody,
      responses,
    },
    async ({ actor }) => {
      await hf.config.reload(actor)
      return currentConfig()
    },
  )

  addRoute(
    {
      method: 'get',
      path: '/config/explain',
      id: 'explainConfig',
      tag,
      role: 'viewer',
      summary: 'The effective values of an operation and their origins',
      query: z.strictObject({ operation: idParam('The name of the operation.') }),
      responses: {
        200: { description: 'Values, origins and the resulting delays', schema: recordSchemas.explanation },
      },
    },
    async ({ query }) => ({ body: encodeExplanation(await hf.config.explain(query.operation)) }),
  )

  addRoute(
    {
      method: 'get',
      path: '/config/history',
      id: 'listConfigVersions',
      tag,
      role: 'viewer',
      summary: 'Versions of the live changes, newest first',
      query: z.strictObject(pagingParams),
      responses: { 200: { description: 'A page of versions', schema: pageSchema(versionSchema) } },
    },
    async ({ query }) => {
      const { items, ...rest } = paginate(await hf.config.history(), ({ version }) => String(version), query)
      const wire = items.map(({ version, by, reason, at }) => ({
        version,
        by,
        ...(reason === undefined ? {} : { reason }),
        at: at.toISOString(),
      }))
      return { body: { items: wire, ...rest } }
    },
  )

  addRoute(
    {
      method: 'get',
      path: '/config/diff',
      id: 'diffConfigVersions',
      tag,
      role: 'viewer',
      summary: 'The differences between two versions of the live changes',
      description:
        'Without `from`, the values that a rollback to the version `to` would change. Secrets are redacted. ' +
        'Requires the role viewer.',
      query: z.strictObject({
        to: versionParam('The version after; 0 for none of the changes.'),
        from: versionParam('The version before. The default is the newest version.').optional(),
      }),
      responses: {
        200: {
          description: 'The differences',
          schema: z.object({ items: z.array(differenceSchema) }),
        },
      },
    },
    async ({ query }) => ({ body: { items: redactChanges(await hf.config.diff(query.to, query.from)) } }),
  )

  addRoute(
    {
      method: 'post',
      path: '/config/rollback',
      id: 'rollbackConfig',
      tag,
      role: 'admin',
      summary: 'Restores an earlier version of the live changes',
      body: z
        .strictObject({
          version: z.int().min(0).describe('The version to restore; 0 for none of the changes.'),
          reason: reasonField,
        })
        .meta({ id: 'RollbackRequest' }),
      responses,
    },
    async ({ body, actor }) => {
      await hf.config.rollback(body.version, actor)
      return currentConfig()
    },
  )

  addRoute(
    {
      method: 'post',
      path: '/config/clear',
      id: 'clearConfig',
      tag,
      role: 'admin',
      summary: 'Discards all live changes',
      optionalBody: reasonBody,
      responses,
    },
    async ({ actor }) => {
      await hf.config.clear(actor)
      return currentConfig()
    },
  )
}
