/* src/mqtt: readings from an MQTT broker, by libmosquitto, which is loaded when one is named.
 *
 *   address.h   "mqtt://host/ward/#?stream=ward" taken apart
 *   payload.h   topic and payload of a message: a row
 *   client.h    a connection: messages, acknowledged when the caller says so
 *   library.h   what is called in libmosquitto
 *
 * May touch: base, base/json, base/time, data, data/csv. */
#ifndef LL_MQTT_MQTT_H
#define LL_MQTT_MQTT_H

#include "mqtt/address.h"
#include "mqtt/client.h"
#include "mqtt/payload.h"

#endif
