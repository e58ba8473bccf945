// What time it is in the zones of the configuration, or in one that is asked for.
import { config } from 'milepost'

export default {
  fetch(request) {
    const asked = new URL(request.url).searchParams.get('zone')
    const now = new Date()
    const zones = asked ? [asked] : config.zones
    try {
      return Response.json(zones.map((zone) => ({ zone, time: timeIn(zone, now) })))
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      return Response.json({ error: `there is no time zone ${asked}` }, { status: 400 })
    }
  },
}

function timeIn(timeZone, now) {
  return now.toLocaleTimeString('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', second: '2-digit' })
}
