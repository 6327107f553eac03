import type { Attempt, Clock } from 'holdfast'
import { CredentialThrottle } from 'holdfast/internal'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import type { ProxyUpstream } from '../connect/upstream.js'
import { upstreamOf } from '../members/member.js'
import { TargetPolicy } from '../targets/target-policy.js'
import { createGuardSelector } from './guards.js'
import type { ProxyCall, ProxyGuard, ProxySettings } from './options.js'
import type { ProxyStatus } from './status-page.js'
import { TunnelRegistry } from './tunnels.js'
import { UserDirectory } from './users.js'

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
export interface ProxyHandlerContext {
  readonly settings: ProxySettings
  readonly users: UserDirectory
  readonly throttle: Pick<CredentialThrottle, 'recordSuccess' | 'recordFailure'>
  readonly targets: TargetPolicy
  readonly guardFor: (call: ProxyCall) => ProxyGuard
  /** Sends to targets where there is no pool. */
  readonly directAgent: Agent
  readonly tunnels: TunnelRegistry
  readonly clock: Clock
  readonly counts: ProxyCounts
  /** Connections of clients, tunnels included. */
  connections: number
  /** Whether it is being closed. */
  isClosing: boolean
  /** Called when the last connection of a client is closed. */
  onIdle: (() => void) | undefined
  /** What the status page shows, where that is not this process's work alone. */
  readonly readStatus: (() => Promise<ProxyStatus>) | undefined
}

/** What a proxy has instead of its own where it is one of several workers. */
export type SharedParts = Pick<ProxyHandlerContext, 'guardFor' | 'throttle' | 'readStatus'>

/** Makes what the handlers of one proxy share. */
export function createHouse(settings: ProxySettings, shared?: SharedParts): ProxyHandlerContext {
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
    users: new UserDirectory(settings.users),
    throttle: shared?.throttle ?? new CredentialThrottle(clock),
    guardFor: shared?.guardFor ?? createGuardSelector(settings),
    readStatus: shared?.readStatus,
    directAgent: new Agent({
      connect: buildConnector({ timeout: settings.connectTimeout, lookup: targets.lookup }),
      pipelining: 1,
      maxHeaderSize: settings.maxHeaderSize,
    }),
    tunnels: new TunnelRegistry(settings.idleTimeout, clock),
    counts: { requests: 0, tunnels: 0, refused: 0 },
    connections: 0,
    isClosing: false,
    onIdle: undefined,
  }
}

/** The proxy that an attempt goes through; undefined where it goes to the target itself. */
export const upstreamOfAttempt = ({ member }: Attempt): ProxyUpstream | undefined =>
  member === undefined ? undefined : upstreamOf(member.value)

/** What an attempt is sent with. */
export const dispatcherFor = (proxyContext: ProxyHandlerContext, attempt: Attempt): Dispatcher =>
  upstreamOfAttempt(attempt)?.dispatcherFor(proxyContext.settings.maxHeaderSize) ?? proxyContext.directAgent
