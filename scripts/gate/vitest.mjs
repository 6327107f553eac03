// Reads the counts from vitest's JSON report.

/**
 * @typedef {{ status: string, fullName: string }} Test
 * @typedef {{ testResults: { status: string, assertionResults: Test[] }[] }} Report
 */

/** @param {Report} report @returns {import('./steps.mjs').Counts} */
export function countTests({ testResults }) {
  const tests = testResults.flatMap((file) => file.assertionResults)
  const count = (/** @type {string[]} */ ...statuses) =>
    tests.filter((test) => statuses.includes(test.status)).length
  // A file that cannot be loaded has failed without a failed test.
  const broken = testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  )
  const notRun = tests.filter((test) => test.fullName.endsWith('(not run)')).length
  return {
    passed: count('passed'),
    failed: count('failed') + broken.length,
    skipped: count('pending', 'skipped', 'todo', 'disabled'),
    note: `${tests.length} tests${notRun > 0 ? `, ${notRun} doc example(s) only type-checked` : ''}`,
  }
}
