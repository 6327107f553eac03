import { HoldfastError } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { expect, test } from 'vitest'
import type { LayerStore, LayerVersion } from '../../store/src/store.js'
import { diffPolicies, hiddenByReload } from '../src/active-config/hidden.js'
import { deletePolicy, putPolicy } from '../src/live-changes/changes.js'
import { LayerHistory } from '../src/live-changes/history.js'
import { resolveConfig } from '../src/resolve/resolve-config.js'
import { refused, resolved } from './read.js'

const BODY =
  'policies: { a: { max_attempts: 2, base_delay: 2 }, b: {} }\nsubsystem_mappings: { s: { o: { timeout: a } } }\npools: { p: { policy: b } }'

const codeOf = (fn: () => unknown): string => {
  try {
    fn()
  } catch (error) {
    return (error as HoldfastError).code
  }
  return 'none'
}

test('putPolicy stores only the changed fields, in wire form', () => {
  const config = resolved(BODY)
  const whole = config.policies.get('a')?.policy
  expect(putPolicy(config, {}, { ...whole, maxAttempts: 7, totalTimeout: 5000 })).toEqual({
    policies: { a: { max_attempts: 7, total_timeout: 5 } },
  })
  expect(putPolicy(config, {}, { id: 'new', baseDelay: '3s' })).toEqual({
    policies: { new: { base_delay: 3 } },
  })
  expect(putPolicy(config, {}, { id: 'new', base_delay: 3 }, 'wire')).toEqual({
    policies: { new: { base_delay: 3 } },
  })
})

test('putPolicy replaces an earlier put and keeps the other policies of the layer', () => {
  const config = resolved(BODY)
  const first = putPolicy(config, { policies: { b: { shadow: true } } }, { id: 'a', maxAttempts: 7 })
  expect(putPolicy(config, first, { id: 'a', multiplier: 3 })).toEqual({
    policies: { a: { multiplier: 3 }, b: { shadow: true } },
  })
})

test('putPolicy rejects a policy with all of its problems', () => {
  const config = resolved(BODY)
  const put = (given: unknown) => refused(() => putPolicy(config, {}, given)).details
  expect(put({ id: '', maxAttempts: 0, maxAtempts: 3, circuitBreaker: 'x', name: '${HOME}' })).toEqual([
    'maxAtempts: unknown key of a policy (did you mean maxAttempts?)',
    'id: expected a text that is not empty, got ""',
    'maxAttempts: expected a whole number from 1, or Infinity, got 0',
    'id: expected the id of the policy, got ""',
  ])
  expect(put({ id: 'a', maxDelay: 1000 })).toEqual([
    'maxDelay: expected at least baseDelay (2000 ms), got 1000 ms',
  ])
  expect(put({ id: 'a', circuitBreaker: 'x' })).toEqual([
    'circuitBreaker: expected a name under circuit_breakers, got "x"',
  ])
  expect(put(null)).toEqual(['expected an object with an id, got null'])
})

test('deletePolicy rejects a policy that is in use and one that does not exist', () => {
  const config = resolved(BODY)
  expect(codeOf(() => deletePolicy(config, {}, 'a'))).toBe('POLICY_IN_USE')
  expect(codeOf(() => deletePolicy(config, {}, 'b'))).toBe('POLICY_IN_USE')
  expect(codeOf(() => deletePolicy(config, {}, 'default'))).toBe('POLICY_IN_USE')
  expect(codeOf(() => deletePolicy(config, {}, 'nope'))).toBe('POLICY_NOT_FOUND')
})

test('deletePolicy drops a policy of the layer and hides one of the config', () => {
  const config = resolved('policies: { a: {} }')
  expect(deletePolicy(config, { policies: { x: { name: 'X' } } }, 'x')).toEqual({ policies: {} })
  const layer = deletePolicy(config, { policies: { a: { name: 'A' } } }, 'a')
  expect(layer).toEqual({ policies: { a: null } })
  expect(resolveConfig(config, layer).policies.has('a')).toBe(false)
  expect(codeOf(() => deletePolicy(config, layer, 'a'))).toBe('POLICY_NOT_FOUND')
  expect(putPolicy(config, layer, { id: 'a', maxAttempts: 2 })).toEqual({
    policies: { a: { max_attempts: 2 } },
  })
})

test('a reload reports each changed value that the layer hides', () => {
  const layer = { policies: { a: { max_attempts: 9, multiplier: 4 } } }
  const before = resolved('policies: { a: { max_attempts: 2, multiplier: 3 } }', layer)
  const after = resolved('policies: { a: { max_attempts: 5, multiplier: 3 } }', layer)
  expect(hiddenByReload(before, after)).toEqual([
    { policyId: 'a', field: 'maxAttempts', value: 9, below: 5, where: 'hf.yaml:2:32' },
  ])
  const open = resolved('policies: { a: { max_attempts: 5, multiplier: 3 }, b: {} }')
  expect(diffPolicies(before.policies, open.policies)).toContainEqual({
    policyId: 'a',
    field: 'maxAttempts',
    before: 9,
    after: 5,
  })
  expect(diffPolicies(open.policies, open.policies)).toEqual([])
})

/** A store of layers that lets another writer in before the first `races` appends. */
function layerStore(races = 0): LayerStore & { versions: LayerVersion[] } {
  const versions: LayerVersion[] = []
  let left = races
  return {
    versions,
    latest: async () => versions.at(-1),
    history: async () => versions.toReversed(),
    async append(version, after) {
      if (left-- > 0)
        versions.push({
          version: after + 1,
          by: 'other',
          at: new Date(0),
          layer: { policies: { other: { name: `n${after}` } } },
        })
      if ((versions.at(-1)?.version ?? 0) !== after) return false
      versions.push(structuredClone(version))
      return true
    },
    expire: async (maxEntries) => versions.splice(0, versions.length - maxEntries).length,
    async rewrite(version, layer) {
      for (const known of versions) if (known.version === version) known.layer = layer
    },
  }
}

const historyOn = (layers: LayerStore) =>
  new LayerHistory({ store: { layers }, clock: fakeClock({ wall: 1000 }) })

test('the history lists each change with actor, time and reason, newest first', async () => {
  const layers = layerStore()
  const history = historyOn(layers)
  expect(await history.load()).toEqual({})
  await history.change((layer) => ({ ...layer, policies: { a: { max_attempts: 2 } } }), {
    by: 'ann',
    reason: 'load',
  })
  await history.change((layer) => ({ policies: { ...layer.policies, b: null } }))
  expect(await history.history()).toEqual([
    { version: 2, by: 'unknown', at: new Date(1000) },
    { version: 1, by: 'ann', reason: 'load', at: new Date(1000) },
  ])
  expect(await historyOn(layers).load()).toEqual({ policies: { a: { max_attempts: 2 }, b: null } })
  expect(await history.rollback(1, { by: 'bob' })).toEqual({ policies: { a: { max_attempts: 2 } } })
  expect((await history.history())[0]).toMatchObject({
    version: 3,
    by: 'bob',
    reason: 'rollback to version 1',
  })
  expect(await history.rollback(0)).toEqual({})
  await expect(history.rollback(9)).rejects.toMatchObject({
    code: 'INVALID_OPTIONS',
    details: ['version: expected 0, or 1 to 4, got 9'],
  })
  await history.clear({ by: 'ann' })
  expect(await history.load()).toEqual({})
})

test('newVersion returns a version of another process until it is loaded', async () => {
  const layers = layerStore()
  const [here, there] = [historyOn(layers), historyOn(layers)]
  expect(await here.newVersion()).toBeUndefined()
  await here.change(() => ({ policies: { a: { max_attempts: 2 } } }))
  expect(await here.newVersion()).toBeUndefined()
  expect(await there.newVersion()).toMatchObject({ version: 1 })
  await there.rollback(0, { by: 'bob' })
  expect(await there.newVersion()).toBeUndefined()
  expect(await here.newVersion()).toMatchObject({ version: 2, by: 'bob' })
  expect(await here.load()).toEqual({})
  expect(await here.newVersion()).toBeUndefined()
})

test('changedAt returns when the layer last changed a policy', async () => {
  const layers = layerStore()
  const clock = fakeClock({ wall: 1000 })
  const history = new LayerHistory({ store: { layers }, clock })
  expect(await history.changedAt('a')).toBeUndefined()
  await history.change(() => ({ policies: { a: { max_attempts: 2 } } }))
  clock.stepWall(1000)
  await history.change((layer) => ({ policies: { ...layer.policies, b: { max_attempts: 3 } } }))
  expect(await history.changedAt('a')).toEqual(new Date(1000))
  expect(await history.changedAt('b')).toEqual(new Date(2000))
  clock.stepWall(1000)
  await history.clear()
  expect(await history.changedAt('a')).toEqual(new Date(3000))
  expect(await history.changedAt('c')).toBeUndefined()
})

test('a change is repeated after a concurrent change', async () => {
  const layers = layerStore(3)
  const layer = await historyOn(layers).change((current) => ({
    policies: { ...current.policies, a: { shadow: true } },
  }))
  expect(layer).toEqual({ policies: { other: { name: 'n2' }, a: { shadow: true } } })
  expect(layers.versions.map(({ version }) => version)).toEqual([1, 2, 3, 4])
})

test('a change that throws stores nothing, and one that always conflicts fails', async () => {
  const layers = layerStore()
  await expect(
    historyOn(layers).change(() => {
      throw new HoldfastError('POLICY_NOT_FOUND', 'no')
    }),
  ).rejects.toMatchObject({ code: 'POLICY_NOT_FOUND' })
  expect(layers.versions).toEqual([])
  await expect(historyOn(layerStore(1000)).change((layer) => layer)).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  })
})

test('a layer that this release cannot read is rejected and can be cleared', async () => {
  const layers = layerStore()
  layers.versions.push({
    version: 1,
    by: 'x',
    at: new Date(0),
    layer: { policies: { a: { max_attempts: 'many' } } },
  })
  await expect(historyOn(layers).load()).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  expect(await historyOn(layers).clear()).toEqual({})
  expect(await historyOn(layers).load()).toEqual({})
})
