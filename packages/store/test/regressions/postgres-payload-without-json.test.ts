// A payload that is undefined was taken for one that has not changed, and the entry failed with a TypeError.
import { expect, it } from 'vitest'
import { columnValues } from '../../src/dead-letter-columns.js'
import { COLUMNS } from '../../src/postgres/statements/dead-letters.js'
import { letter } from '../contract/records.js'

it('a PostgreSQL queue rejects a new dead letter without a payload as invalid', () => {
  const entry = { ...letter(1), originalPayload: undefined }
  expect(() => columnValues(Object.values(COLUMNS), entry, null)).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTIONS' }),
  )
})
