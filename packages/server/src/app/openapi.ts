import { HTTP_STATUS_BY_CODE } from '../http/codes.js'
import type { App } from '../http/env.js'

type Json = { [key: string]: unknown }

const TAGS: readonly (readonly [string, string])[] = [
  ['policies', 'When calls are tried again.'],
  ['circuit breakers', 'Who is left alone, and until when.'],
  ['metrics', 'Numbers about calls.'],
  ['sessions', 'Calls that failed at least once, with their attempts.'],
  ['events', 'What happens, as it happens.'],
  ['errors', 'Failed attempts, as operators read them.'],
  ['dead letters', 'What could not be saved, kept until it can be replayed.'],
  ['jobs', 'Work that takes longer than a request.'],
  ['pools', 'Members that can do the same thing.'],
  ['request', 'One request through a pool.'],
  ['config', 'The one file, and what was changed on top of it.'],
  ['audit', 'Who did what.'],
  ['access', 'Who asks, and what they may do.'],
  ['nodes', 'The processes that share what they know.'],
  ['health', 'Whether it runs.'],
]

/** The OpenAPI document of an app. */
export function createOpenApiDocument(app: App): Json {
  const document = app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version: '1.0.0',
      description:
        'Breakers, retries, dead letters and policies of a Holdfast runtime. Records are in snake_case, durations are ' +
        `seconds, times are ISO 8601 in UTC. Errors are { error, message, details? } with one of the codes ${Object.keys(HTTP_STATUS_BY_CODE).join(', ')}.`,
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    servers: [{ url: '/', description: 'This server' }],
    tags: TAGS.map(([name, description]) => ({ name, description })),
  }) as unknown as Json
  const components = document['components'] as Json
  components['securitySchemes'] = {
    bearer: {
      type: 'http',
      scheme: 'bearer',
      description: 'A token made by `holdfast token create`. None is needed on loopback while none exists.',
    },
  }
  if (Object.keys(Object(components['parameters']) as object).length === 0) delete components['parameters']
  if (Object.keys(Object(document['webhooks']) as object).length === 0) delete document['webhooks']
  return document
}
