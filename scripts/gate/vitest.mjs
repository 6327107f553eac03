// Reads vitest's JSON report.
import { relative } from 'node:path'

/**
 * @typedef {{ status: string, fullName: string, failureMessages?: string[] | null }} Test
 * @typedef {{ name?: string, status: string, message?: string, assertionResults: Test[] }} TestFile
 * @typedef {{ testResults: TestFile[] }} Report
 */

/** A file that cannot be loaded has failed without a failed test. @param {TestFile} file */
const failedToLoad = (file) =>
  file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed')

/** @param {Report} report @returns {import('./steps.mjs').Counts} */
export function countTests({ testResults }) {
  const tests = testResults.flatMap((file) => file.assertionResults)
  const count = (/** @type {string[]} */ ...statuses) =>
    tests.filter((test) => statuses.includes(test.status)).length
  const notRun = tests.filter((test) => test.fullName.endsWith('(not run)')).length
  return {
    passed: count('passed'),
    failed: count('failed') + testResults.filter(failedToLoad).length,
    skipped: count('pending', 'skipped', 'todo', 'disabled'),
    note: `${tests.length} tests${notRun > 0 ? `, ${notRun} doc example(s) only type-checked` : ''}`,
  }
}

/**
 * One text for each failed test: its file, its name, and the first lines of its error.
 *
 * @param {Report} report
 * @param {string} root the folder that the names of files are relative to
 */
export function failedTests({ testResults }, root) {
  const begin = (/** @type {string} */ text) => text.split('\n').slice(0, 8).join('\n').slice(0, 1_000)
  return testResults.flatMap((file) => {
    const name = relative(root, file.name ?? '')
    if (failedToLoad(file)) return [`${name}: ${begin(file.message ?? '')}`]
    return file.assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => `${name} > ${test.fullName}: ${begin(test.failureMessages?.[0] ?? '')}`)
  })
}

/**
 * The names of the failed tests, each with its file. A file that cannot be loaded is in the list without a test.
 *
 * @param {Report} report
 * @param {string} root the folder that the names of files are relative to
 */
export function failedTestNames({ testResults }, root) {
  return testResults.flatMap((file) => {
    const name = relative(root, file.name ?? '')
    if (failedToLoad(file)) return [name]
    return file.assertionResults
      .filter((test) => test.status === 'failed')
      .map((test) => `${name} > ${test.fullName}`)
  })
}
