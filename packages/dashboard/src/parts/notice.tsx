import { signal } from '@preact/signals'
import { clock } from '../page.js'

const said = signal('')
let timer: unknown

/** Says what was done, for a while; screen readers hear it. */
export function say(text: string): void {
  said.value = text
  clock.clearTimer(timer)
  timer = clock.setTimer(() => {
    said.value = ''
  }, 6000)
}

export function Notice() {
  return (
    <div class="notice" role="status" hidden={said.value === ''}>
      {said.value}
    </div>
  )
}
