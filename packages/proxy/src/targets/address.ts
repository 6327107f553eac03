import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** IPv4 ranges that are not public: this network, private, shared, loopback, link-local (with metadata services), benchmarks, multicast. */
const PRIVATE_V4_RANGES: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
]

/** IPv6 ranges that are not public: unspecified and loopback, local NAT64, Teredo, unique local, link-local, site-local, multicast. */
const PRIVATE_V6_RANGES: readonly (readonly [string, number])[] = [
  ['::', 127],
  ['64:ff9b:1::', 48],
  ['2001::', 32],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
]

const privateRanges = new BlockList()
for (const [network, prefix] of PRIVATE_V4_RANGES) privateRanges.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of PRIVATE_V6_RANGES) privateRanges.addSubnet(network, prefix, 'ipv6')

/** The kinds of IPv6 addresses that embed an IPv4 address, with the index of its first group. */
const EMBEDDED_V4_PATTERNS: readonly (readonly [pattern: RegExp, group: number])[] = [
  [/^0:0:0:0:0:(ffff|0):/, 6], // mapped, compatible
  [/^0:0:0:0:ffff:0:/, 6], // translated
  [/^64:ff9b:0:0:0:0:/, 6], // NAT64
  [/^2002:/, 1], // 6to4
]

/** The eight groups of an IPv6 address, without leading zeros. */
function expandV6(address: string): string[] {
  // The URL parser normalizes every notation, including a dotted IPv4 suffix.
  const [head = '', tail] = new URL(`http://[${address.split('%')[0]}]`).hostname.slice(1, -1).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  return tail === undefined
    ? left
    : [...left, ...new Array(8 - left.length - right.length).fill('0'), ...right]
}

/**
 * Whether an address is not public: private, loopback, link-local, metadata, multicast or reserved, in every notation, also
 * embedded in an IPv6 address. False for a text that is not an address.
 *
 * @example
 * ```ts
 * import { isPrivateAddress } from '@holdfast/proxy'
 *
 * isPrivateAddress('169.254.169.254') // => true
 * isPrivateAddress('::ffff:10.0.0.1') // => true
 * isPrivateAddress('2606:4700::1111') // => false
 * isPrivateAddress('example.com') // => false
 * ```
 */
export function isPrivateAddress(address: string): boolean {
  if (isIPv4(address)) return privateRanges.check(address, 'ipv4')
  if (!isIPv6(address)) return false
  const bare = address.split('%')[0] as string
  if (privateRanges.check(bare, 'ipv6')) return true
  const groups = expandV6(bare)
  const text = groups.join(':')
  return EMBEDDED_V4_PATTERNS.some(([pattern, at]) => {
    if (!pattern.test(text)) return false
    const [high = 0, low = 0] = groups.slice(at, at + 2).map((group) => Number.parseInt(group, 16))
    return privateRanges.check([high >> 8, high & 255, low >> 8, low & 255].join('.'), 'ipv4')
  })
}

/** Names that denote this machine or a metadata service by definition. The local resolver may not know them, but that of an upstream proxy can. */
const LOCAL_NAME_PATTERN =
  /^((.+\.)?localhost|(.+\.)?localhost\.localdomain|metadata|metadata\.google\.internal|metadata\.goog|instance-data(\..+)?)\.?$/i

/**
 * Whether a name denotes this machine or a metadata service by definition. It is not resolved.
 *
 * @example
 * ```ts
 * import { isLocalName } from '@holdfast/proxy'
 *
 * isLocalName('api.localhost') // => true
 * isLocalName('metadata.google.internal') // => true
 * isLocalName('example.com') // => false
 * ```
 */
export const isLocalName = (name: string): boolean => LOCAL_NAME_PATTERN.test(name)
