import type { Attempt, Clock } from 'holdfast'
import { CredentialThrottle } from 'holdfast/internal'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { upstreamOf } from '../members/member.js'
import type { ProxyUpstream } from '../members/upstream.js'
import { TargetPolicy } from '../targets/target-policy.js'
import { guardsOf } from './guards.js'
import type { ProxyCall, ProxyGuard, ProxySettings } from './options.js'
import type { ProxyStatus } from './status-page.js'
import { Tunnels } from './tunnels.js'
import { Users } from './users.js'

/** How often things happened since the start. */
export interface ProxyCounts {
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
  readonly throttle: Pick<CredentialThrottle, 'recordSuccess' | 'recordFailure'>
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
  /** Called when the last connection of a client is closed. */
  onIdle: (() => void) | undefined
  /** What the status page shows, where that is not this process's work alone. */
  readonly readStatus: (() => Promise<ProxyStatus>) | undefined
}

/** What a proxy has instead of its own where it is one of several workers. */
export type SharedParts = Pick<House, 'guardFor' | 'throttle' | 'readStatus'>

/** Makes what the handlers of one proxy share. */
export function createHouse(settings: ProxySettings, shared?: SharedParts): House {
  const { clock } = settings
  const targets = new TargetPolicy({
    allowPrivate: settings.allowPrivateTargets,
    resolve: settings.resolve,
    clock,
  })
  return {
    settings,
    clock,
    targets,
    users: new Users(settings.users),
    throttle: shared?.throttle ?? new CredentialThrottle(clock),
    guardFor: shared?.guardFor ?? guardsOf(settings),
    readStatus: shared?.readStatus,
    direct: new Agent({
      connect: buildConnector({ timeout: settings.connectTimeout, lookup: targets.lookup }),
      pipelining: 1,
      maxHeaderSize: settings.maxHeaderSize,
    }),
    tunnels: new Tunnels(settings.idleTimeout, clock),
    counts: { requests: 0, tunnels: 0, refused: 0 },
    connections: 0,
    closing: false,
    onIdle: undefined,
  }
}

/** The proxy that an attempt goes through; undefined where it goes to the target itself. */
export const upstreamFor = ({ member }: Attempt): ProxyUpstream | undefined =>
  member === undefined ? undefined : upstreamOf(member.value)

/** What an attempt is sent with. */
export const dispatcherFor = (house: House, attempt: Attempt): Dispatcher =>
  upstreamFor(attempt)?.dispatcherFor(house.settings.maxHeaderSize) ?? house.direct
