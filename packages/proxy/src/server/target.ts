/** The target of a plain request. */
export interface RequestTarget {
  /** Scheme, name and port, as normalized by the URL parser. */
  readonly origin: string
  /** Name and port. */
  readonly host: string
  /** The name or address; IPv6 in brackets. */
  readonly hostname: string
}

/** Recently parsed authorities, because clients repeatedly request the same few servers. */
const parsedTargets = new Map<string, RequestTarget | undefined>()
const MAX_PARSED_TARGETS = 1000

function parseTarget(base: string): RequestTarget | undefined {
  if (!URL.canParse(base)) return undefined
  const { origin, host, hostname } = new URL(base)
  return { origin, host, hostname }
}

function cachedTarget(base: string): RequestTarget | undefined {
  const found = parsedTargets.get(base)
  if (found !== undefined || parsedTargets.has(base)) return found
  if (parsedTargets.size >= MAX_PARSED_TARGETS) parsedTargets.clear()
  const target = parseTarget(base)
  if (base.length < 300) parsedTargets.set(base, target)
  return target
}

const ABSOLUTE_URL_PATTERN = /^(https?:\/\/[^/?#\\\s]+)([^#\\\s]*)/i

/** Parses an absolute URL; the path is not normalized. Undefined where the URL is not valid. */
export function parseAbsolute(url: string): { target: RequestTarget; path: string } | undefined {
  const match = ABSOLUTE_URL_PATTERN.exec(url)
  if (match === null || url.includes('\\')) return undefined
  const target = cachedTarget((match[1] as string).toLowerCase())
  if (target === undefined) return undefined
  const path = match[2] as string
  return { target, path: path.startsWith('/') ? path : `/${path}` }
}

/** Parses the target of a tunnel, `host:port`, in every notation of an address. Undefined where it is not valid. */
export function parseAuthority(text: string): { hostname: string; host: string; port: number } | undefined {
  const port = Number(/^[^/?#@\\\s]+:(\d{1,5})$/.exec(text)?.[1])
  if (!(port > 0 && port < 65_536)) return undefined
  const target = cachedTarget(`http://${text.toLowerCase()}`)
  return target && { hostname: target.hostname, host: target.hostname.replace(/^\[|\]$/g, ''), port }
}
