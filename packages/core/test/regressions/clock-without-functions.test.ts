import { expect, it } from 'vitest'
import { type Clock, guard } from '../../src/index.js'

it('a guard rejects a clock whose members are not functions', () => {
  const clock = { now: 1, wall: 1, setTimer: true, clearTimer: true } as unknown as Clock
  expect(() => guard({ clock })).toThrow('a Clock with now, wall, setTimer and clearTimer')
})
