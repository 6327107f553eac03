export { type ProxyProtocol, ProxyUpstream, type UpstreamOptions } from './connect/upstream.js'
export { ProxyConnectionError, type ProxyConnectionErrorOptions } from './errors.js'
export { createProxyFetch, type ProxyFetchOptions } from './members/fetch.js'
export { parseProxyList } from './members/list.js'
export { type ProxyMemberOptions, proxyMember } from './members/member.js'
export { PROXY_FAULTS, type ProxyPoolOptions, proxyPool } from './members/pool.js'
export {
  type ProxyFileChanges,
  type ProxyFileWatcher,
  type WatchOptions,
  watchProxyFile,
} from './members/watch.js'
export type {
  ProxyCall,
  ProxyContext,
  ProxyGuard,
  ProxyOptions,
  ProxyPolicy,
  ProxyRetryOptions,
  ProxyUser,
} from './server/options.js'
export type { ProxyStatus } from './server/status-page.js'
export { type ProxyServer, startProxy } from './start/start-proxy.js'
export { isLocalName, isPrivateAddress } from './targets/address.js'
export {
  PrivateTargetError,
  type Resolve,
  type ResolvedAddress,
  TargetPolicy,
  type TargetPolicyOptions,
} from './targets/target-policy.js'
