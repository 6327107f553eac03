import { expect, it } from 'vitest'
import { Holdfast } from '../../src/index.js'

it('open: rejects unknown options', async () => {
  await expect(Holdfast.open({ confg: {} } as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
  await expect(Holdfast.open(5 as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' })
})
