import { jsonSchema } from '@holdfast/runtime'
import type { App } from '../http/env.js'
import { ERROR_CODES } from '../http/error-codes.js'

type Json = { [key: string]: unknown }

/** The schemas of policies. Their fields are keys of the config file, whose schema describes them. */
const POLICY_SCHEMAS = ['RetryPolicy', 'RetryPolicyChange']

const TAGS: readonly (readonly [string, string])[] = [
  ['policies', 'How calls are retried and protected.'],
  ['circuit breakers', 'The states of circuit breakers and their changes.'],
  ['metrics', 'Counts and durations of calls.'],
  ['sessions', 'Calls that failed at least once, with their attempts.'],
  ['events', 'The live event stream.'],
  ['errors', 'Records of failed attempts.'],
  ['dead letters', 'Payloads of calls that failed after all retries, stored for a replay.'],
  ['jobs', 'Batch replays that run in the background.'],
  ['pools', 'Pools of proxies or endpoints, and their members.'],
  ['request', 'One HTTP request through a pool.'],
  ['config', 'The config file and the live changes.'],
  ['audit', 'The audit trail of changes and reads.'],
  ['access', 'The caller, its role and its sign-in.'],
  ['tokens', 'Tokens of callers.'],
  ['nodes', 'The processes of the fleet.'],
  ['health', 'Liveness and readiness.'],
]

interface SchemaNode {
  description?: string
  properties?: Record<string, SchemaNode>
  additionalProperties?: SchemaNode
  anyOf?: SchemaNode[]
}

/** The description of a duration without its text form, which only the config file accepts. */
const withoutText = (description: string): string =>
  description.replace("In seconds, or a text such as '500ms'.", 'In seconds.')

/** Adds the descriptions of the config file's schema to the fields of policies. */
function describePolicies(schemas: Record<string, SchemaNode>): void {
  const policy = (jsonSchema() as SchemaNode).properties?.['policies']?.additionalProperties
  for (const name of POLICY_SCHEMAS)
    for (const [field, schema] of Object.entries(schemas[name]?.properties ?? {})) {
      const key = policy?.properties?.[field]
      const description = key?.description ?? key?.anyOf?.find((option) => option.description)?.description
      if (description !== undefined) schema.description ??= withoutText(description)
    }
}

/** The OpenAPI document of an app. */
export function createOpenApiDocument(app: App): Json {
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version: '1.0.0',
      description:
        'Breakers, retries, dead letters and policies of a Holdfast runtime. Records are in snake_case, durations are ' +
        `seconds, times are ISO 8601 in UTC. Errors are { error, message, details? } with one of the codes ${ERROR_CODES.join(', ')}.`,
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: '/', description: 'This server' }],
    tags: TAGS.map(([name, description]) => ({ name, description })),
  }) as unknown as Json
  const components = document['components'] as Json
  describePolicies(components['schemas'] as Record<string, SchemaNode>)
  components['securitySchemes'] = {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description:
        'A token of `holdfast token create`. On loopback no token is required as long as none exists.',
    },
    cookie: {
      type: 'apiKey',
      in: 'cookie',
      name: 'holdfast',
      description:
        'The cookie of `POST /api/v1/access/session`. Its name also contains the port, and with TLS the prefix `__Host-`. ' +
        'Requests that change something need the header `x-csrf-token`.',
    },
  }
  if (Object.keys(Object(components['parameters']) as object).length === 0) delete components['parameters']
  if (Object.keys(Object(document['webhooks']) as object).length === 0) delete document['webhooks']
  return document
}
