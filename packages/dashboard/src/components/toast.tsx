import { signal } from '@preact/signals'
import { clock } from '../browser.js'

const noticeText = signal('')
let timer: unknown

/** Shows a message for a few seconds; screen readers announce it. */
export function toast(text: string): void {
  noticeText.value = text
  clock.clearTimer(timer)
  timer = clock.setTimer(() => {
    noticeText.value = ''
  }, 6000)
}

export function Toast() {
  return (
    <div class="notice" role="status" hidden={noticeText.value === ''}>
      {noticeText.value}
    </div>
  )
}
