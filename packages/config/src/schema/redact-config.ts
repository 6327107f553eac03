import { REDACTED } from 'holdfast/internal'
import type { z } from 'zod'
import { configSchema } from './schema.js'
import { childOf, isSecret, itemOf, shownUrlParts } from './walk.js'

/** The scheme, the user, the path with the host, and the rest of a url. `http:` needs no slashes before the host. */
const URL_PATTERN = /^(\s*(?:https?:[\\/]*|[a-z][a-z\d+.-]*:\/\/))([^/?#]*@)?([^?#]*)([\s\S]*)$/i

/** Parameters of the url of a store that are no secrets and that the store needs. */
const SHOWN_PARAMETERS = new Set(['schema', 'sslmode'])

const redactParameters = (query: string): string =>
  query.replace(/([?&#])([^&=#]*=)?([^&#]+)/g, (found, mark: string, name = '') =>
    SHOWN_PARAMETERS.has(name.slice(0, -1)) ? found : `${mark}${name}${REDACTED}`,
  )

/** Some services take a key in the path, and a path or a list can contain another url with credentials. */
const redactPath = (path: string): string =>
  path
    .replace(/(?<=:[/\\]{1,2})[^/\\]*@/g, `${REDACTED}@`)
    .replace(/(?<=[/\\])[^/\\]{20,}/g, (part) => (/\d/.test(part) && /[a-z]/i.test(part) ? REDACTED : part))

/** The part of a url that can be shown: the origin, or also the path and the names of the parameters. */
function redactUrl(url: string, shown: 'address' | 'origin'): string | undefined {
  const [, scheme, user, address = '', rest = ''] = URL_PATTERN.exec(url) ?? []
  if (scheme === undefined) return undefined
  const start = scheme + (user === undefined ? '' : `${REDACTED}@`)
  if (shown === 'address') return start + redactPath(address) + redactParameters(rest)
  const origin = address.replace(/[/\\].*$/s, '')
  return `${start}${origin}${address.length - origin.length + rest.length > 1 ? `/${REDACTED}` : ''}`
}

/** Replaces credentials, parameters and keys in the urls of a text. */
export const redactUrls = (text: string): string =>
  text.replace(/[a-z][a-z\d+.-]{0,30}:\/\/[^\s"'<>]+/gi, (url) => redactUrl(url, 'address') ?? REDACTED)

function redactSecret(schema: z.core.$ZodType, value: unknown): unknown {
  const shown = shownUrlParts(schema)
  if (shown === undefined || typeof value !== 'string') return REDACTED
  // The url of a store can be a path.
  if (shown === 'database') return redactUrl(value, 'address') ?? value
  return redactUrl(value, shown) ?? REDACTED
}

/**
 * A configuration in its wire form without secrets. The schema says which values are secret. Of a url the parts that can be
 * secret are replaced. Other texts can contain urls too.
 */
export const redactConfig = (wire: unknown): unknown => redactValue(wire, configSchema)

function redactValue(value: unknown, schema: z.core.$ZodType | undefined): unknown {
  if (value === undefined || value === null) return value
  if (schema !== undefined && isSecret(schema)) return redactSecret(schema, value)
  if (typeof value === 'string') return redactUrls(value)
  if (Array.isArray(value)) {
    const item = schema && itemOf(schema)
    return value.map((each) => redactValue(each, item))
  }
  if (typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, redactValue(each, schema && childOf(schema, key))]),
  )
}
