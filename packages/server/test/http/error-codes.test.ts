import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { HTTP_STATUS_BY_CODE, LIBRARY_ERRORS, SERVER_ERRORS } from '../../src/http/error-codes.js'

test('the table of error codes in docs/rest-api.md has the status of every code', () => {
  const page = readFileSync(new URL('../../../../docs/rest-api.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| ([45]\d\d) \| (.+) \|$/gm)]
  const documented = rows.flatMap(([, status, text = '']) =>
    [...text.matchAll(/`([A-Z_]{5,})`/g)].map(([, code = '']) => [code, Number(status)]),
  )
  expect(Object.fromEntries(documented)).toEqual(HTTP_STATUS_BY_CODE)
})

test.each(Object.entries({ ...SERVER_ERRORS, ...LIBRARY_ERRORS }))(
  '%s has a meaning and an action in full sentences',
  (_, { meaning, action }) => {
    expect(meaning).toMatch(/^[A-Z`].*\.$/)
    expect(action).toMatch(/^[A-Z`].*\.$/)
  },
)
