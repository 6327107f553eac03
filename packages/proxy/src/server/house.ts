import type { Attempt, Clock } from 'holdfast'
import type { CredentialThrottle } from 'holdfast/engine'
import type { Agent, Dispatcher } from 'undici'
import { upstreamOf } from '../members/member.js'
import type { ProxyUpstream } from '../members/upstream.js'
import type { TargetPolicy } from '../targets/target-policy.js'
import type { ProxyCall, ProxyGuard, ProxySettings } from './options.js'
import type { Tunnels } from './tunnels.js'
import type { Users } from './users.js'

/** How often things happened since the start. */
interface ProxyCounts {
  /** Plain requests that were let in. */
  requests: number
  /** Tunnels that stood. */
  tunnels: number
  /** Requests and tunnels that were refused or failed at this proxy. */
  refused: number
}

/** What the handlers of one proxy share. */
export interface House {
  readonly settings: ProxySettings
  readonly users: Users
  readonly throttle: CredentialThrottle
  readonly targets: TargetPolicy
  readonly guardFor: (call: ProxyCall) => ProxyGuard
  /** Sends to targets where there is no pool. */
  readonly direct: Agent
  readonly tunnels: Tunnels
  readonly clock: Clock
  readonly counts: ProxyCounts
  /** Connections of clients, tunnels included. */
  connections: number
  /** Whether it is being closed. */
  closing: boolean
}

/** The proxy that an attempt goes through; undefined where it goes to the target itself. */
export const upstreamFor = ({ member }: Attempt): ProxyUpstream | undefined =>
  member === undefined ? undefined : upstreamOf(member.value)

/** What an attempt is sent with. */
export const dispatcherFor = (house: House, attempt: Attempt): Dispatcher =>
  upstreamFor(attempt)?.dispatcherFor(house.settings.maxHeaderSize) ?? house.direct
