/*
 * Which names may a request's Host field have, that reached a loopback address of
 * ours?  A web page can bind a name of its own to 127.0.0.1 and make a browser call
 * us under it; but then Host is that name.  Loopback addresses, localhost and
 * the operator's own names are taken, with a port or without: which port is not
 * asked, since a forwarded one is another and a page cannot choose ours.
 */
#ifndef BROKER_CONF_LOCAL_HOST_H
#define BROKER_CONF_LOCAL_HOST_H

#include "conf/conf.h"
#include "slice.h"

/* field: the Host field's value, empty where there is none (which no browser
 * sends): false then.  Any thread. */
bool local_host_p(struct slice field, const struct conf_hosts *names);

#define LOCAL_HOST_REASON "the Host field names none of the addresses and names this is reached by"
#define LOCAL_HOST_REMEDY "send Host: 127.0.0.1:PORT or localhost:PORT, or have the name added to \"hosts\" in config.json"

#endif
