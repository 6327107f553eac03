// What test files import as 'vitest' when mutants are run: the same matchers and spies, and tests that are kept as plain
// functions, so that they can be run again and again in one process.

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
import * as spies from '@vitest/spy'

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin)

export const expect = Object.assign((value, message) => chai.expect(value, message), chai.expect, {
  ...globalThis[ASYMMETRIC_MATCHERS_OBJECT],
  getState: () => getState(expect),
  setState: (state) => setState(state, expect),
  unreachable: (message) => chai.assert.fail(message),
})
setState({ assertionCalls: 0 }, expect)

const { fn, spyOn, restoreAllMocks, clearAllMocks, resetAllMocks } = spies
export const vi = { fn, spyOn, restoreAllMocks, clearAllMocks, resetAllMocks }

const suite = (name, parent) => ({
  name,
  parent,
  before: [],
  after: [],
  beforeAll: [],
  afterAll: [],
  live: false,
})

let tests = []
let here = suite('', undefined)
let finished = []

/** Begins a new list of tests, which the test files that are loaded next fill. */
export function collect() {
  tests = []
  here = suite('', undefined)
  return tests
}

export function describe(name, body) {
  here = suite(name, here)
  body()
  here = here.parent
}

export function it(name, body) {
  const path = [name]
  for (let outer = here; outer !== undefined; outer = outer.parent) path.unshift(outer.name)
  tests.push({ name: path.join(' ').trim(), body, suite: here })
}

const each = (make) => (table) => (name, body) => {
  const rows = table.every(Array.isArray) ? table : table.map((row) => [row])
  for (const values of rows) {
    make(format(name, ...values), (...own) => body(...values, ...own))
  }
}
describe.each = each(describe)
it.each = each(it)

export const beforeEach = (hook) => here.before.push(hook)
export const afterEach = (hook) => here.after.push(hook)
export const beforeAll = (hook) => here.beforeAll.push(hook)
export const afterAll = (hook) => here.afterAll.push(hook)
export const onTestFinished = (hook) => finished.push(hook)

/** Types are checked by the compiler; here their assertions say yes to everything. */
export const expectTypeOf = () => new Proxy(() => expectTypeOf(), { get: () => expectTypeOf() })

/** Runs one test with the hooks around it. */
export async function run(test) {
  const suites = []
  for (let outer = test.suite; outer !== undefined; outer = outer.parent) suites.unshift(outer)
  finished = []
  try {
    for (const { beforeAll: hooks } of suites.filter(({ live }) => !live))
      for (const hook of hooks) await hook()
    for (const outer of suites) outer.live = true
    for (const { before } of suites) for (const hook of before) await hook()
    await test.body()
  } finally {
    for (const { after } of suites.toReversed()) for (const hook of after) await hook()
    for (const hook of finished.toReversed()) await hook()
  }
}

/** Undoes what was set up for all the tests of a suite. */
export async function end() {
  for (const outer of new Set(tests.map(({ suite: own }) => own)))
    if (outer.live) {
      outer.live = false
      for (const hook of outer.afterAll) await hook()
    }
}
