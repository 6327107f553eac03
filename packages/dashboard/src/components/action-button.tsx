import type { ComponentProps } from 'preact'
import { isOffline } from '../api/connection.js'

/** A button of an action on the server. It is disabled while the server cannot be reached. */
export function ActionButton({ disabled = false, title, ...rest }: ComponentProps<'button'>) {
  const offline = isOffline.value
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled === true || offline}
      {...(offline ? { title: 'Not available while the server cannot be reached' } : title && { title })}
    />
  )
}
