import { isEncrypted, KeyRing } from '@holdfast/store'
import { isHoldfastError } from 'holdfast'
import { isMapping } from '../mapping.js'
import { createConfigInvalid } from '../problems/describe.js'
import type { ConfigProblem } from '../problems/problem.js'
import type { Layer } from '../schema/layer.js'

/** Whether a url contains a user or a password. */
const hasCredentials = (url: unknown): boolean => {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const { username, password } = new URL(url)
  return username !== '' || password !== ''
}

/** Maps the url of each member in a layer. Values in another form are not changed. */
function mapUrls(layer: unknown, map: (url: unknown, path: string) => unknown): unknown {
  if (!isMapping(layer) || !isMapping(layer.pools)) return layer
  const pools = Object.entries(layer.pools).map(([pool, held]) => {
    if (!isMapping(held) || !isMapping(held.members)) return [pool, held]
    const members = Object.entries(held.members).map(([id, change]) =>
      isMapping(change) && change.url !== undefined
        ? [id, { ...change, url: map(change.url, `pools.${pool}.members.${id}`) }]
        : [id, change],
    )
    return [pool, { ...held, members: Object.fromEntries(members) }]
  })
  return { ...layer, pools: Object.fromEntries(pools) }
}

/** The stored form of a layer: urls with credentials are encrypted if there is a key. */
export const encryptMemberUrls = (layer: Layer, keys: KeyRing): unknown =>
  keys.newestId === undefined
    ? layer
    : mapUrls(layer, (url, path) => (hasCredentials(url) ? keys.encrypt(url, path) : url))

/** Decrypts the urls of a stored layer. A url that cannot be decrypted is not changed and is reported. */
export const decryptMemberUrls = (
  stored: unknown,
  keys: KeyRing,
  report: (found: ConfigProblem) => void,
): unknown =>
  mapUrls(stored, (url, path) => {
    if (!isEncrypted(url)) return url
    try {
      return keys.decrypt(url, path)
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      report({ path: `${path}.url`, code: 'not_readable', expected: 'a url', got: error.message })
      return url
    }
  })

/** Decrypts a stored layer for readers. @throws CONFIG_INVALID if a key is not configured */
export function openStoredLayer(
  stored: unknown,
  encryptionKey: string | readonly string[] | undefined,
): Layer {
  const problems: ConfigProblem[] = []
  const layer = decryptMemberUrls(stored ?? {}, new KeyRing(encryptionKey), (problem) =>
    problems.push(problem),
  )
  if (problems.length > 0) throw createConfigInvalid('the layer of changes', problems)
  return layer as Layer
}

/** Whether a url in a stored layer is not encrypted with the newest key. */
export function hasOutdatedSecrets(stored: unknown, keys: KeyRing): boolean {
  let isOutdated = false
  mapUrls(stored, (url) => {
    if (isEncrypted(url) || hasCredentials(url)) isOutdated ||= keys.needsRotation(url)
    return url
  })
  return isOutdated
}
