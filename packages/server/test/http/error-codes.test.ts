import { expect, test } from 'vitest'
import { LIBRARY_ERRORS, SERVER_ERRORS } from '../../src/http/error-codes.js'

test.each(Object.entries({ ...SERVER_ERRORS, ...LIBRARY_ERRORS }))(
  '%s has a meaning and an action in full sentences',
  (_, { meaning, action }) => {
    expect(meaning).toMatch(/^[A-Z`].*\.$/)
    expect(action).toMatch(/^[A-Z`].*\.$/)
  },
)
