// Replaces 'vitest' in test files while mutants are tested. It has the same matchers and spies, and stores tests as functions,
// so that they can run many times in one process.
import { format } from 'node:util'
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  chai,
  getState,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from '@vitest/expect'
import { clearAllMocks, fn, resetAllMocks, restoreAllMocks, spyOn } from '@vitest/spy'

/** @typedef {() => unknown} Hook */

/**
 * @typedef Suite
 * @property {string} name
 * @property {Suite | undefined} outer
 * @property {Hook[]} before
 * @property {Hook[]} after
 * @property {Hook[]} first before all of its tests
 * @property {Hook[]} last after all of its tests
 * @property {boolean} live whether its first hooks have run
 */

/** @typedef {{ id: string, name: string, body: Hook, suite: Suite }} Test */

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin)

const matchers = /** @type {Record<symbol, object>} */ (/** @type {unknown} */ (globalThis))

/** @type {any} */
export const expect = Object.assign(
  (/** @type {unknown} */ value, /** @type {string} */ message) => chai.expect(value, message),
  chai.expect,
  matchers[ASYMMETRIC_MATCHERS_OBJECT],
  {
    getState: () => getState(expect),
    setState: (/** @type {object} */ state) => setState(state, expect),
    unreachable: (/** @type {string} */ message) => chai.assert.fail(message),
  },
)
setState({ assertionCalls: 0 }, expect)

export const vi = { fn, spyOn, restoreAllMocks, clearAllMocks, resetAllMocks }

/** @returns {Suite} */
const suite = (/** @type {string} */ name, /** @type {Suite | undefined} */ outer) => ({
  name,
  outer,
  before: [],
  after: [],
  first: [],
  last: [],
  live: false,
})

/** @type {Test[]} */
let tests = []
let here = suite('', undefined)
/** @type {Hook[]} */
let finished = []

/** Begins a new list of tests, which the test files that are loaded next fill. */
export function collect() {
  tests = []
  here = suite('', undefined)
  return tests
}

/** @param {string} name @param {() => void} body */
export function describe(name, body) {
  const outer = here
  here = suite(name, outer)
  body()
  here = outer
}

/** @param {string} name @param {Hook} body */
export function it(name, body) {
  const path = [...suitesOf(here).map((outer) => outer.name), name].join(' ').trim()
  const alike = tests.filter((test) => test.name === path).length
  tests.push({ id: alike === 0 ? path : `${path} (${alike + 1})`, name: path, body, suite: here })
}

/** @param {(name: string, body: () => any) => void} make */
const each =
  (make) =>
  (/** @type {unknown[]} */ table) =>
  (/** @type {string} */ name, /** @type {(...values: unknown[]) => unknown} */ body) => {
    for (const row of table) {
      const values = Array.isArray(row) && table.every(Array.isArray) ? row : [row]
      make(format(name, ...values), () => body(...values))
    }
  }
describe.each = each(describe)
it.each = each(it)

export const beforeEach = (/** @type {Hook} */ hook) => here.before.push(hook)
export const afterEach = (/** @type {Hook} */ hook) => here.after.push(hook)
export const beforeAll = (/** @type {Hook} */ hook) => here.first.push(hook)
export const afterAll = (/** @type {Hook} */ hook) => here.last.push(hook)
export const onTestFinished = (/** @type {Hook} */ hook) => finished.push(hook)

/** Types are checked by the compiler; here their assertions say yes to everything. @returns {any} */
export const expectTypeOf = () => new Proxy(() => expectTypeOf(), { get: () => expectTypeOf() })

/** @param {Hook[]} hooks */
async function inTurn(hooks) {
  for (const hook of hooks) await hook()
}

/** A suite and those around it, the outermost first. @returns {Suite[]} */
function suitesOf(/** @type {Suite} */ inner) {
  return inner.outer === undefined ? [inner] : [...suitesOf(inner.outer), inner]
}

/** Runs one test with the hooks around it. @param {Test} test */
export async function run(test) {
  const suites = suitesOf(test.suite)
  finished = []
  try {
    for (const one of suites) {
      if (!one.live) await inTurn(one.first)
      one.live = true
    }
    for (const { before } of suites) await inTurn(before)
    await test.body()
  } finally {
    for (const { after } of suites.reverse()) await inTurn(after)
    await inTurn(finished.reverse())
  }
}

/** Undoes what was set up for all the tests of a suite. */
export async function end() {
  for (const one of new Set(tests.map((test) => test.suite))) {
    if (one.live) await inTurn(one.last)
    one.live = false
  }
}
