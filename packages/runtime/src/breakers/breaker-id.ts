/** The policy, service or pool member that a breaker belongs to. */
export interface BreakerOwner {
  policyId?: string
  serviceName?: string
  pool?: string
  member?: string
}

/** The id of an owner's breaker. Its parts are percent-encoded, so that the id can be parsed. */
export function breakerId({ policyId, serviceName, pool, member }: BreakerOwner): string {
  if (policyId !== undefined) return `policy:${encodeURIComponent(policyId)}`
  if (serviceName !== undefined) return `service:${encodeURIComponent(serviceName)}`
  return `pool:${encodeURIComponent(pool ?? '')}:${encodeURIComponent(member ?? '')}`
}

/** The owner that an id names. */
export function parseBreakerId(id: string): BreakerOwner {
  const [kind, first = '', ...rest] = id.split(':').map(decodeIdPart)
  if (kind === 'policy') return { policyId: first }
  // The name of a member may be written without encoding, for example `10.0.0.1:8080`.
  return kind === 'pool' ? { pool: first, member: rest.join(':') } : { serviceName: first }
}

/** The pool member that an id names; null for every other breaker. */
export const proxyIdOf = (id: string): string | null => parseBreakerId(id).member ?? null

function decodeIdPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
