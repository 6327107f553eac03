import { isHoldfastError } from 'holdfast'
import { Keys } from '../../dead-letters/seal.js'
import { isSealed } from '../../store/payload.js'
import { configInvalid, type Problem } from '../problem.js'
import type { Layer } from './layer.js'

type Mapping = Record<string, unknown>

const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a url holds a user or a password. */
const hasCredentials = (url: unknown): boolean => {
  if (typeof url !== 'string' || !URL.canParse(url)) return false
  const { username, password } = new URL(url)
  return username !== '' || password !== ''
}

/** A layer with something else in place of the url of each member; what has another form stays as it is. */
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

/** A layer as it is stored: urls with credentials are encrypted where there is a key. */
export const sealMembers = (layer: Layer, keys: Keys): unknown =>
  keys.newest === undefined
    ? layer
    : mapUrls(layer, (url, path) => (hasCredentials(url) ? keys.seal(url, path) : url))

/** A stored layer with its urls as they were given. A url that cannot be opened stays as it is and is told of. */
export const openMembers = (stored: unknown, keys: Keys, problem: (found: Problem) => void): unknown =>
  mapUrls(stored, (url, path) => {
    if (!isSealed(url)) return url
    try {
      return keys.open(url, path)
    } catch (error) {
      if (!isHoldfastError(error)) throw error
      problem({ path: `${path}.url`, message: error.message })
      return url
    }
  })

/** A stored layer for those who only read it. @throws CONFIG_INVALID where a key is not at hand */
export function openStoredLayer(
  stored: unknown,
  encryptionKey: string | readonly string[] | undefined,
): Layer {
  const problems: Problem[] = []
  const layer = openMembers(stored ?? {}, new Keys(encryptionKey), (problem) => problems.push(problem))
  if (problems.length > 0) throw configInvalid('the layer of changes', problems)
  return layer as Layer
}

/** Whether a url in a stored layer would be stored otherwise today. */
export function hasOutdatedSecrets(stored: unknown, keys: Keys): boolean {
  let isOutdated = false
  mapUrls(stored, (url) => {
    if (isSealed(url) || hasCredentials(url)) isOutdated ||= keys.outdated(url)
    return url
  })
  return isOutdated
}
