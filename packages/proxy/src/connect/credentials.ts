import type { ProxyUpstream } from './upstream.js'

/** Who we are to a proxy. */
export interface Credentials {
  readonly username: string
  readonly password: string
}

/** Kept apart from the objects, so that nothing that shows, copies or serializes one can show them. */
const credentialsByUpstream = new WeakMap<ProxyUpstream, Credentials>()

/** Remembers the credentials of a proxy. */
export function setCredentials(upstream: ProxyUpstream, credentials: Credentials): void {
  credentialsByUpstream.set(upstream, credentials)
}

/** The credentials of a proxy, for those who speak to it. */
export const credentialsOf = (upstream: ProxyUpstream): Credentials | undefined =>
  credentialsByUpstream.get(upstream)

/** The value of Proxy-Authorization. */
export const basicAuthorization = ({ username, password }: Credentials): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

/** The URL of a proxy with its credentials: for another process of this program, and for nothing that is shown or kept. */
export function urlWithCredentials(upstream: ProxyUpstream): string {
  const credentials = credentialsByUpstream.get(upstream)
  if (credentials === undefined) return upstream.toString()
  const { username, password } = credentials
  return `${upstream.protocol}//${encodeURIComponent(username)}:${encodeURIComponent(password)}@${upstream.host}`
}
