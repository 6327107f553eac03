import type { ProxyUpstream } from './upstream.js'

/** The credentials for a proxy. */
export interface Credentials {
  readonly username: string
  readonly password: string
}

/** Stored outside of the upstream objects, so that logging, copying or serializing one cannot reveal them. */
const credentialsByUpstream = new WeakMap<ProxyUpstream, Credentials>()

/** Stores the credentials for a proxy. */
export function setCredentials(upstream: ProxyUpstream, credentials: Credentials): void {
  credentialsByUpstream.set(upstream, credentials)
}

/** The credentials for a proxy. */
export const credentialsOf = (upstream: ProxyUpstream): Credentials | undefined =>
  credentialsByUpstream.get(upstream)

/** The value of Proxy-Authorization. */
export const basicAuthorization = ({ username, password }: Credentials): string =>
  `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`

/** The URL of a proxy with its credentials. It is only for worker processes and must not be logged or stored. */
export function urlWithCredentials(upstream: ProxyUpstream): string {
  const credentials = credentialsByUpstream.get(upstream)
  if (credentials === undefined) return upstream.toString()
  const { username, password } = credentials
  return `${upstream.protocol}//${encodeURIComponent(username)}:${encodeURIComponent(password)}@${upstream.host}`
}
