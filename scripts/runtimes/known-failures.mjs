// Tests that do not pass on another runtime, with the reason. They are left out there: all tests of `file`, or those whose full name
// begins with one of `tests`.

const OWN_UNDICI = 'Bun replaces the package undici by a module of its own, which has no interceptors'
const NODE_OPTIONS = 'the test starts its program with options of Node.js'

/** @typedef {{ file: string, reason: string } | { tests: string[], reason: string }} KnownFailure */

/** @type {Record<string, KnownFailure[]>} */
const KNOWN_FAILURES = {
  bun: [
    { file: '**/classify/real/http-clients.test.ts', reason: OWN_UNDICI },
    { file: '**/core/test/undici/**', reason: OWN_UNDICI },
    { file: '**/http/chaos.test.ts', reason: OWN_UNDICI },
    { file: '**/http/connections.test.ts', reason: OWN_UNDICI },
    { file: '**/regressions/request-sent-after-the-abort.test.ts', reason: OWN_UNDICI },
    { file: '**/regressions/unfinished-body-hides-the-status.test.ts', reason: OWN_UNDICI },
    { file: '**/requests/undici.test.ts', reason: OWN_UNDICI },
    {
      tests: [
        'a pool member of createFetch can have its own dispatcher',
        'a status in notProcessedStatuses works in the interceptor',
        'an error code in the body of a response is found under the interceptor',
        'createFetch with a pool of proxies',
        'the context of events of the interceptor',
        'the headers of a pool member replace those of the caller in the interceptor',
        'the origin of a pool member with the path',
        'the value of a pool member is validated at the first use',
      ],
      reason: OWN_UNDICI,
    },
    { file: '**/metrics/memory.test.ts', reason: NODE_OPTIONS },
    { file: '**/regressions/missing-native-module.test.ts', reason: NODE_OPTIONS },
  ],
  deno: [
    {
      file: '**/classify/real/platform.test.ts',
      reason: 'the error of an aborted events.once has no cause on Deno',
    },
    {
      file: '**/undici/platform.test.ts',
      reason: 'the fetch of Deno has no dispatcher',
    },
    {
      tests: [
        'a server that fails in every way receives no request twice that must not be repeated from createFetch',
        'the interceptor for undici protects code that cannot be changed',
        'the interceptor under fetch() can be aborted',
        'the interceptor under fetch() does not retry after the response was forwarded',
      ],
      reason: 'the fetch of the package undici does not end a request on Deno whose connection is lost',
    },
    { file: '**/holdfast/exit.test.ts', reason: NODE_OPTIONS },
    { file: '**/metrics/memory.test.ts', reason: NODE_OPTIONS },
    { file: '**/regressions/missing-native-module.test.ts', reason: NODE_OPTIONS },
    { file: '**/regressions/timer-keeps-the-process-alive.test.ts', reason: NODE_OPTIONS },
  ],
}

/** The name of the runtime that runs this file, as in {@link KNOWN_FAILURES}. */
const runtime = () => ('Deno' in globalThis ? 'deno' : process.versions['bun'] === undefined ? 'node' : 'bun')

/** Options of Vitest that leave out the known failures of this runtime. Its option `--exclude` has no effect on projects. */
export function exclusions() {
  const known = KNOWN_FAILURES[runtime()] ?? []
  const tests = known.flatMap((failure) => ('tests' in failure ? failure.tests : []))
  const escaped = tests.map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return {
    files: known.flatMap((failure) => ('file' in failure ? failure.file : [])),
    testNamePattern: tests.length === 0 ? undefined : new RegExp(`^(?!${escaped.join('|')})`),
  }
}
